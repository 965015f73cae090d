import { activity } from "./activity";
import { agents } from "./agents";
import { auth } from "./auth";
import { common } from "./common";
import { composer } from "./composer";
import { decisions } from "./decisions";
import { guide } from "./guide";
import { huddles } from "./huddles";
import { letters } from "./letters";
import { memory } from "./memory";
import { profile } from "./profile";
import { rooms } from "./rooms";
import { shell } from "./shell";
import { tasks } from "./tasks";
import { terminal } from "./terminal";
import { timeline } from "./timeline";
import { toolNames } from "./toolNames";
import { tools } from "./tools";

export const zhCN = {
  ...common,
  ...shell,
  ...rooms,
  ...terminal,
  ...timeline,
  ...composer,
  ...activity,
  ...auth,
  ...agents,
  ...letters,
  ...memory,
  ...profile,
  ...guide,
  ...decisions,
  ...tools,
  ...toolNames,
  ...tasks,
  ...huddles,
};
