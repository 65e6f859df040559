/** Groups and their members as aligned columns. */
import type { Broadcast, GroupView, ReplyStatus } from "../../contract/group.ts";
import { type Cell, columns, heading, type TableOptions } from "./columns.ts";
import { createStyle, type Style } from "./style.ts";
import { relativeTime } from "./time.ts";

export function groupTable(groups: readonly GroupView[], options: TableOptions): string[] {
  const style = createStyle(options.color);
  const rows = groups.map(({ name, members, broadcast, created_at }): Cell[] => [
    { text: name, paint: style.cyan },
    { text: relativeTime(created_at, options.now) },
    { text: broadcast === null ? "-" : progress(broadcast) },
    { text: members.map((member) => member.handle).join(", ") },
  ]);
  return columns(heading(style, ["GROUP", "STARTED", "REPLIES", "MEMBERS"]), rows, options.width);
}

export function memberTable({ members, broadcast }: GroupView, options: TableOptions): string[] {
  const style = createStyle(options.color);
  const asked = new Map(broadcast?.members.map((member) => [member.session, member]));
  const rows = members.map(({ session, handle, agent, state }): Cell[] => {
    const reply = asked.get(session);
    return [
      { text: handle, paint: style.cyan },
      { text: agent },
      { text: state },
      { text: reply?.status ?? "-", paint: replyPaint(reply?.status, style) },
      { text: reply?.error ?? "" },
    ];
  });
  return columns(heading(style, ["MEMBER", "AGENT", "STATE", "REPLY", "WHY"]), rows, options.width);
}

function progress({ members, settled_at }: Broadcast): string {
  const count = (status: ReplyStatus) => members.filter((member) => member.status === status).length;
  const failed = count("error");
  const done = `${count("ok")}/${members.length}${failed === 0 ? "" : `, ${failed} failed`}`;
  return settled_at === null ? `${done}, open` : done;
}

function replyPaint(status: ReplyStatus | undefined, style: Style): (text: string) => string {
  if (status === "ok") return style.green;
  if (status === "error") return style.red;
  return status === "waiting" ? style.yellow : style.dim;
}
