export const composer = {
  "composer.label": "Message to {room}",
  "composer.placeholder": "Write to {room}",
  "composer.send": "Send",
  "composer.replyingTo": "Reply to {name}",
  "composer.cancelReply": "Cancel reply",
  "composer.mention": "Mention somebody",
  "composer.mentions": "Who to mention",
  "composer.add": "will be added",
  "composer.tooLong": "{over} characters too long",
  "composer.offline": "You are offline. What you write is sent when you are back.",
} as const;
