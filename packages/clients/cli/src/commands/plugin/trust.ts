/**
 * `aegis trust` and `aegis plugin trust`: show what this folder would run, and record the user's trust in exactly that.
 */

import { tellDaemon } from "../../daemon/connection.ts";
import { plural } from "../../format/text.ts";
import { visibleLine } from "../../format/visible.ts";
import type { Handler } from "../../program/command.ts";
import { usageError } from "../../program/failure.ts";
import { askConsent, askYesNo } from "../../terminal/confirm.ts";
import { exitCodes } from "../../terminal/context.ts";
import type { Terminal } from "../../terminal/terminal.ts";
import { type Project, projectOf } from "../project/project-of.ts";
import type { pluginCommands, trustCommands } from "./spec.ts";

type Change = Extract<Judged["verdict"], { allowed: false }>["changes"][number];
type Judged = Awaited<ReturnType<typeof import("@aegis/project/trust/agree.ts")["listTrust"]>>[number];

export const trust: Handler<typeof trustCommands.trust> = async (cx, args) => {
  refuseContradiction(args);
  const agree = await import("@aegis/project/trust/agree.ts");
  const project = await projectOf(cx);
  if (args.revoke) {
    const had = await agree.revokeTrust(project);
    await tellDaemon(cx);
    const told = had ? `Nothing in ${project.root} is trusted any more.` : `Nothing in ${project.root} was trusted.`;
    return cx.show({ ok: true, revoked: had }, told);
  }
  if (args.in !== undefined) return trustIn(cx, project, { ...args, in: args.in });
  const judged = await agree.listTrust(project);
  const always = await agree.isAlwaysTrusted(project);
  const open = judged.filter(({ verdict }) => !verdict.allowed);
  if (args.list || (open.length === 0 && !args.always)) {
    const items = judged.map(plain);
    const worktrees = always ? [] : await otherVersions(project);
    const answer = { project: project.root, always, items, worktrees: worktrees.map(plainWorktree) };
    return cx.show(answer, () => [
      ...trustLines(cx, project.root, judged, always),
      ...worktrees.flatMap((one) => worktreeLines(cx, one)),
    ]);
  }
  cx.tell([`${project.root} would run or use:`, ...open.flatMap((one) => lines(cx, one))]);
  const question = args.always
    ? "Trust everything in this folder, including future changes?"
    : `Trust ${open.length === 1 ? "it" : `these ${open.length}`} in the current version?`;
  await consent(cx, args.yes, question);
  if (args.always) {
    await agree.agreeAlways(project);
    await tellDaemon(cx);
  } else await agreeToAll(cx, project, open);
  const refused = await untrusted(project);
  const trusted = open.filter(({ item }) => !refused.some((one) => isSame(one.item, item)));
  const answer = { ok: refused.length === 0, trusted: trusted.map(plain), always: args.always || always };
  const told = `Trusted: ${plural(trusted.length, "item")}. You will be asked again when something changes.`;
  cx.show(answer, args.always ? "Trusted, including future changes." : told);
  return tellRefused(cx, refused);
};

type Worktree = { folder: string; open: Judged[] };

/** `aegis trust --in`: what a worktree has that the user did not agree to. */
async function trustIn(cx: Terminal, project: Project, args: { in: string; list: boolean; yes: boolean }) {
  const { findWorktree } = await import("@aegis/project/trust/worktrees.ts");
  const agree = await import("@aegis/project/trust/agree.ts");
  const worktree = await findWorktree(project.root, args.in, cx.cwd);
  const listed = async () => {
    const judged = await agree.listWorktreeTrust(project, worktree);
    return { judged, open: judged.filter(({ verdict }) => !verdict.allowed) };
  };
  const { judged, open } = await listed();
  if (args.list || open.length === 0) {
    const told = `Nothing in ${worktree} differs from what you trusted.`;
    const shown = args.list ? judged : open;
    return cx.show({ project: project.root, worktree, items: judged.map(plain) }, () =>
      shown.length === 0 ? [told] : shown.flatMap((one) => lines(cx, one)),
    );
  }
  cx.tell([`In ${worktree}, agents would run or use:`, ...open.flatMap((one) => lines(cx, one))]);
  await consent(cx, args.yes, `Trust ${open.length === 1 ? "it" : `these ${open.length}`} in this worktree?`);
  await agree.agreeInWorktree(
    project,
    worktree,
    open.map(({ item }) => item),
  );
  await tellDaemon(cx);
  const refused = (await listed()).open;
  const answer = { ok: refused.length === 0, worktree, trusted: open.map(plain) };
  cx.show(answer, `Trusted in ${worktree}: ${plural(open.length - refused.length, "item")}.`);
  return tellRefused(cx, refused);
}

/** Worktrees in which an agent that is trusted in the project would not start. */
async function otherVersions(project: Project): Promise<Worktree[]> {
  const { worktreesOf } = await import("@aegis/project/trust/worktrees.ts");
  const { listWorktreeTrust } = await import("@aegis/project/trust/agree.ts");
  const all = (await worktreesOf(project.root)).map(async (folder) => {
    const judged = await listWorktreeTrust(project, folder);
    return { folder, open: judged.filter(({ verdict }) => !verdict.allowed && verdict.reason === "changed") };
  });
  return (await Promise.all(all)).filter(({ open }) => open.length > 0);
}

function worktreeLines(cx: Terminal, { folder, open }: Worktree): string[] {
  const about = `The worktree ${visibleLine(folder)} has another version; to look at it and agree: aegis trust --in ${visibleLine(folder)}`;
  return [about, ...open.flatMap((one) => lines(cx, one))];
}

function plainWorktree({ folder, open }: Worktree) {
  return { folder, items: open.map(plain) };
}

/** Rejects `--list` with options that change something, and `--always` with `--revoke`. */
function refuseContradiction(args: {
  list: boolean;
  always: boolean;
  revoke: boolean;
  yes: boolean;
  in?: string | undefined;
}): void {
  const { list, always, revoke, yes } = args;
  if (args.in !== undefined && (always || revoke))
    throw usageError(`--in and ${always ? "--always" : "--revoke"} cannot be combined`, "see aegis trust --help");
  const given = Object.entries({ list, always, revoke, yes: yes && !revoke }).filter(([, isSet]) => isSet);
  const names = given.map(([name]) => `--${name}`);
  if ((list && names.length > 1) || (always && revoke))
    throw usageError(`${names.join(" and ")} cannot be combined`, "see aegis trust --help");
}

/** Shows a plugin and trusts it, unless it is trusted already. Throws if it is unknown or the user declines. */
export async function trustShown(cx: Terminal, args: { name: string; yes: boolean }): Promise<void> {
  const agree = await import("@aegis/project/trust/agree.ts");
  const project = await projectOf(cx);
  const found = await agree.findPlugin(project, args.name).catch(() => null);
  // A plugin in the user's own folder does not belong to the project.
  if (found === null || found.verdict.allowed) return;
  cx.tell(lines(cx, found));
  await consent(cx, args.yes, `Trust the current version of ${args.name}?`);
  await agree.trustPlugin(project, found.item, { dev: false });
  await tellDaemon(cx);
}

export const pluginTrust: Handler<typeof pluginCommands.trust> = async (cx, args) => {
  const agree = await import("@aegis/project/trust/agree.ts");
  const project = await projectOf(cx);
  const found = await agree.findPlugin(project, args.name);
  cx.tell(lines(cx, found));
  const question = args.dev
    ? `Trust ${args.name}, including future changes?`
    : `Trust the current version of ${args.name}?`;
  await consent(cx, args.yes, question);
  await agree.trustPlugin(project, found.item, { dev: args.dev });
  await tellDaemon(cx);
  const refused = [await agree.findPlugin(project, args.name)].filter(({ verdict }) => !verdict.allowed);
  const told = args.dev
    ? `${args.name} is trusted, including future changes.`
    : `${args.name} is trusted in its current version.`;
  const ok = refused.length === 0;
  cx.show({ ok, trusted: plain(found), dev: args.dev }, ok ? told : []);
  return tellRefused(cx, refused);
};

/** Shows what this folder would run and asks whether to trust it. A refusal changes nothing. */
export async function offerTrust(cx: Terminal): Promise<void> {
  const project = await projectOf(cx);
  const open = await untrusted(project);
  if (open.length === 0) return;
  cx.tell([`${project.root} would run or use:`, ...open.flatMap((one) => lines(cx, one))]);
  const question = `Trust ${open.length === 1 ? "it" : `these ${open.length}`} in the current version?`;
  if ((await askYesNo(cx, question, false)) === true) await agreeToAll(cx, project, open);
}

/** For commands with `--yes`: trusts everything here without output. */
export async function trustHere(cx: Terminal): Promise<void> {
  const project = await projectOf(cx);
  const open = await untrusted(project);
  if (open.length === 0) return;
  await agreeToAll(cx, project, open);
  cx.warn(`trusted because of --yes: ${open.map(({ item }) => `${item.kind} ${item.name}`).join(", ")}`);
}

async function untrusted(project: Project): Promise<Judged[]> {
  const { listTrust } = await import("@aegis/project/trust/agree.ts");
  return (await listTrust(project)).filter(({ verdict }) => !verdict.allowed);
}

async function agreeToAll(cx: Terminal, project: Project, open: readonly Judged[]): Promise<void> {
  const { agreeTo } = await import("@aegis/project/trust/agree.ts");
  await agreeTo(
    project,
    open.map(({ item }) => item),
  );
  await tellDaemon(cx);
}

/** Some content can never be trusted, such as a folder with a link that leaves it. Consent does not change that. */
function tellRefused(cx: Terminal, refused: readonly Judged[]): number {
  for (const { item, verdict } of refused)
    if (!verdict.allowed) cx.warn(`${item.kind} ${item.name} is still not trusted: ${verdict.message}; ${verdict.fix}`);
  return refused.length === 0 ? exitCodes.ok : exitCodes.failed;
}

function isSame(a: Judged["item"], b: Judged["item"]): boolean {
  return a.kind === b.kind && a.name === b.name;
}

function consent(cx: Terminal, yes: boolean, question: string): Promise<void> {
  return askConsent(cx, { yes, question, otherwise: "nothing was trusted" });
}

function trustLines(cx: Terminal, root: string, judged: readonly Judged[], always: boolean): string[] {
  return [
    ...(always ? [`Everything in ${root} is trusted, including future changes.`] : []),
    ...(judged.length === 0 ? [`Nothing in ${root} starts a program or sends secrets.`] : []),
    ...judged.flatMap((one) => lines(cx, one)),
  ];
}

function lines(cx: Terminal, { item, verdict }: Judged): string[] {
  const style = cx.style;
  const mark = verdict.allowed ? style.green("trusted  ") : style.yellow(verdict.reason.padEnd(9));
  const more =
    verdict.allowed || verdict.reason === "untrusted"
      ? []
      : [`             ${style.dim(visibleLine(verdict.message))}`, ...changeLines(cx, verdict.changes)];
  // A person decides by these lines, and the folder may come from a stranger.
  const [name, file, what] = [item.name, item.file, item.what].map(visibleLine);
  return [`  ${mark}  ${item.kind} ${style.cyan(name ?? "")} (${file})`, `             ${what}`, ...more];
}

const diffLinesAtMost = 40;

/** The diff of each changed part, which the message only begins. */
function changeLines(cx: Terminal, changes: readonly Change[]): string[] {
  return changes.flatMap(({ part, diff }) => {
    const more = diff.length - diffLinesAtMost;
    const shown = diff.slice(0, diffLinesAtMost).map((line) => {
      const text = visibleLine(line);
      return `               ${line.startsWith("+") ? cx.style.green(text) : cx.style.red(text)}`;
    });
    if (diff.length < 2 && changes.length === 1) return [];
    return [
      `             ${visibleLine(part)}`,
      ...shown,
      ...(more > 0 ? [`               and ${plural(more, "more line")}`] : []),
    ];
  });
}

function plain({ item, verdict }: Judged) {
  const { kind, name, file, what, hash } = item;
  const state = verdict.allowed ? "trusted" : verdict.reason;
  const changes = verdict.allowed ? [] : verdict.changes;
  return { kind, name, file, what, hash, state, changes };
}
