import type { composer as en } from "../en/composer";

export const composer: Record<keyof typeof en, string> = {
  "composer.label": "发给 {room} 的消息",
  "composer.placeholder": "写给 {room}",
  "composer.send": "发送",
  "composer.replyingTo": "回复 {name}",
  "composer.cancelReply": "取消回复",
  "composer.mention": "提到某人",
  "composer.mentions": "提到谁",
  "composer.add": "将被加入",
  "composer.tooLong": "超出 {over} 个字符",
  "composer.offline": "现在没有网络。写下的内容会在恢复后发送。",
  "composer.attach": "添加文件",
  "composer.files": "待发送的文件",
  "composer.removeFile": "移除 {name}",
  "composer.drop": "松开即可添加文件",
  "composer.refused.empty": "{name} 是空文件或文件夹",
  "composer.refused.large": "{name} 超过 25 MB",
  "composer.refused.many": "{name}：一条消息最多十个文件",
};
