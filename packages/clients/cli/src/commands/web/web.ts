/** `aegis web`: gives a browser access to the web app. */
import { stateDir } from "@aegis/lib/daemon-file.ts";
import { table } from "../../format/columns.ts";
import { plural } from "../../format/text.ts";
import { relativeTime } from "../../format/time.ts";
import type { Handler } from "../../program/command.ts";
import type { Terminal } from "../../terminal/terminal.ts";
import { openLink } from "./open-link.ts";
import type { webCommands } from "./spec.ts";

export const web: Handler<typeof webCommands.web> = async (cx, { noOpen, list, revoke }) => {
  if (revoke !== undefined) return await revokeAccess(cx, revoke);
  if (list) return await listBrowsers(cx);
  const { client, root } = await cx.daemon();
  const link = await client.call("createWebCode");
  const opened = !noOpen && cx.interactive && (await openLink(link.url, { folder: stateDir(root), env: cx.env }));
  const seconds = Math.round((link.expires_at - Date.now()) / 1000);
  cx.show({ url: link.url, expires_at: link.expires_at, opened }, () => {
    cx.print(link.url);
    const how = opened ? "The link was opened in your browser." : "Open the link in a browser on this machine.";
    cx.print(cx.style.dim(`${how} It is valid for ${seconds} seconds and for one browser.`));
  });
};

async function listBrowsers(cx: Terminal): Promise<void> {
  const answer = await cx.call("listBrowsers");
  if (answer.browsers.length === 0) return cx.show(answer, "No browser has access. Give one access with: aegis web");
  const { style } = cx;
  const now = Date.now();
  cx.show(answer, () =>
    table(cx, ["ID", "SINCE", "LAST USED", "BROWSER"], answer.browsers, (one) => [
      { text: one.id, paint: style.cyan },
      relativeTime(one.created_at, now),
      relativeTime(one.last_used_at, now),
      one.user_agent,
    ]),
  );
}

async function revokeAccess(cx: Terminal, which: string): Promise<void> {
  const ids = which === "all" ? (await cx.call("listBrowsers")).browsers.map(({ id }) => id) : [which];
  const revoked = [];
  for (const browser of ids) revoked.push((await cx.call("revokeBrowser", { path: { browser } })).browser);
  cx.show({ revoked }, `Revoked the access of ${plural(revoked.length, "browser")}.`);
}
