/**
 * Holds the reader's types against the server's, at compile time: a key that a screen reads must exist in `internal/wire`, or be named here as one
 * that only other servers send. Nothing of this reaches the bundle.
 */
import type * as external from "./external";
import type * as letters from "./letters";
import type * as limits from "./limits";
import type * as tools from "./tools";
import type * as read from "./types";
import type * as wire from "./wire.gen";

/** Keys that the reader knows and the server never sends, apart from the allowed ones. Must be `never`. */
type Unknown<Reader, Server, Allowed extends string = never> = Exclude<keyof Reader, keyof Server | Allowed>;
type Hold<T extends never> = T;

export type WireCheck = [
  Hold<Unknown<read.Self, wire.Self, "externalTool" | "maskedEmail">>,
  Hold<Unknown<read.Participant, wire.Participant, "metadata">>,
  Hold<Unknown<read.Member, wire.ConversationMember>>,
  Hold<Unknown<read.Conversation, wire.Conversation>>,
  // Reply threads are read from servers that have them.
  Hold<Unknown<read.Message, wire.Message, "threadRootId" | "threadOnly" | "replyCount" | "lastReplyAt" | "replySenderIds">>,
  Hold<Unknown<read.FileAttachment, wire.Attachment>>,
  Hold<Unknown<read.Change, wire.Change>>,
  Hold<Unknown<read.ChangesPage, wire.Changes>>,
  Hold<Unknown<read.Agent, wire.Agent, "soulMdSourceName">>,
  Hold<Unknown<read.ExternalSession, wire.ExternalSession>>,
  Hold<Unknown<external.AgentInvite, wire.Invite>>,
  Hold<Unknown<read.AgentHealth, wire.AgentHealth>>,
  Hold<Unknown<read.AgentHealthDetail, wire.AgentHealthDetail, "displayName">>,
  Hold<Unknown<read.ExecutorHealth, wire.ExecutorHealth>>,
  Hold<Unknown<read.RuntimeFault, wire.RuntimeFault>>,
  Hold<Unknown<read.Turn, wire.Turn>>,
  Hold<Unknown<letters.LetterAddresses, wire.LetterAddresses>>,
  Hold<Unknown<letters.LetterAddress, wire.LetterAddress>>,
  Hold<Unknown<letters.FormerLetterAddress, wire.FormerLetterAddress>>,
  Hold<Unknown<read.CatalogProvider, wire.CatalogProvider>>,
  Hold<Unknown<read.CatalogModel, wire.CatalogModel>>,
  Hold<Unknown<read.LlmKey, wire.LLMKey>>,
  Hold<Unknown<tools.AgentTool, wire.PlatformTool>>,
  Hold<Unknown<tools.ToolCallRow, wire.ToolCallRow>>,
  Hold<Unknown<tools.AgentUsage, wire.AgentUsage>>,
  Hold<Unknown<tools.Service, wire.API>>,
  Hold<Unknown<tools.ServiceInput, wire.APIEdit>>,
  Hold<Unknown<tools.Operation, wire.APIOperation>>,
  Hold<Unknown<read.Session, wire.Session>>,
  Hold<Unknown<read.LocalSetup, wire.SetupLocal>>,
  Hold<Unknown<read.Receipt, wire.Receipt>>,
  Hold<Unknown<read.PermissionRequest, wire.PermissionRequest>>,
  Hold<Unknown<read.ApprovalGrant, wire.ApprovalGrant>>,
  Hold<Unknown<limits.ApprovalRule, wire.ApprovalRule>>,
  Hold<Unknown<limits.ApprovalRuleSet, wire.ApprovalRuleSet>>,
  Hold<Unknown<limits.AgentBudget, wire.AgentBudget>>,
  Hold<Unknown<read.CredentialRequest, wire.CredentialRequest>>,
  Hold<Unknown<read.Decision, wire.Decision>>,
  Hold<Unknown<read.PastDecision, wire.PastDecision>>,
  Hold<Unknown<read.PastGrant, wire.PastGrant>>,
  Hold<Unknown<read.NamedPerson, wire.NamedPerson>>,
  Hold<Unknown<read.Task, wire.Task>>,
  Hold<Unknown<read.TaskPerson, wire.TaskParticipant>>,
  Hold<Unknown<read.TaskStep, wire.TaskStep>>,
  Hold<Unknown<read.TaskAsk, wire.TaskAsk>>,
  Hold<Unknown<read.TaskEvent, wire.TaskEvent>>,
];
