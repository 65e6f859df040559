/** `aegis trust` and `aegis plugin trust`: shows what this folder would run, and agrees to exactly that. */
import { findProjectRoot } from "../../lib/daemon-file.ts";
import { askYesNo } from "../ask-yes-no.ts";
import { exitCodes } from "../context.ts";
import { CliError } from "../failure.ts";
import { createStyle } from "../format/style.ts";
import { plural } from "../format/text.ts";
import { tellDaemon } from "../tell-daemon.ts";
import type { Terminal } from "../terminal.ts";

export type TrustArgs = { yes: boolean; list: boolean; revoke: boolean; always: boolean };

type Judged = Awaited<ReturnType<typeof import("../../daemon/trust/agree.ts")["listTrust"]>>[number];

export async function trust(cx: Terminal, args: TrustArgs): Promise<number> {
  const agree = await import("../../daemon/trust/agree.ts");
  const project = await projectOf(cx);
  if (args.revoke) {
    const had = await agree.revokeTrust(project);
    await tellDaemon(cx);
    if (cx.json) cx.printJson({ ok: true, revoked: had });
    else cx.print(had ? `Nothing in ${project.root} is trusted any more.` : `Nothing in ${project.root} was trusted.`);
    return exitCodes.ok;
  }
  const judged = await agree.listTrust(project);
  const always = await agree.isAlwaysTrusted(project);
  const open = judged.filter(({ verdict }) => !verdict.allowed);
  if (args.list || (open.length === 0 && !args.always)) {
    if (cx.json) cx.printJson({ project: project.root, always, items: judged.map(plain) });
    else show(cx, project.root, judged, always);
    return exitCodes.ok;
  }
  if (!cx.json) {
    cx.print(`${project.root} would run or use:`);
    for (const line of open.flatMap((one) => lines(cx, one))) cx.print(line);
  }
  const question = args.always
    ? "Trust everything in this folder, now and whatever it becomes?"
    : `Trust ${open.length === 1 ? "it" : `these ${open.length}`} as they are now?`;
  await consent(cx, args.yes, question);
  if (args.always) await agree.agreeAlways(project);
  else
    await agree.agreeTo(
      project,
      open.map(({ item }) => item),
    );
  await tellDaemon(cx);
  const refused = (await agree.listTrust(project)).filter(({ verdict }) => !verdict.allowed);
  const trusted = open.filter(({ item }) => !refused.some((one) => isSame(one.item, item)));
  if (cx.json) cx.printJson({ ok: refused.length === 0, trusted: trusted.map(plain), always: args.always || always });
  else if (args.always) cx.print("Trusted, now and later.");
  else cx.print(`Trusted: ${plural(trusted.length, "item")}. What changes is asked about again.`);
  return tellRefused(cx, refused);
}

export async function pluginTrust(cx: Terminal, args: { name: string; yes: boolean; dev: boolean }): Promise<number> {
  const agree = await import("../../daemon/trust/agree.ts");
  const project = await projectOf(cx);
  const found = await agree.findPlugin(project, args.name);
  if (!cx.json) for (const line of lines(cx, found)) cx.print(line);
  const question = args.dev ? `Trust ${args.name} whatever it becomes?` : `Trust ${args.name} as it is now?`;
  await consent(cx, args.yes, question);
  await agree.trustPlugin(project, found.item, { dev: args.dev });
  await tellDaemon(cx);
  const refused = [await agree.findPlugin(project, args.name)].filter(({ verdict }) => !verdict.allowed);
  if (cx.json) cx.printJson({ ok: refused.length === 0, trusted: plain(found), dev: args.dev });
  else if (refused.length === 0)
    cx.print(args.dev ? `${args.name} is trusted while you write it.` : `${args.name} is trusted as it is now.`);
  return tellRefused(cx, refused);
}

/** For commands with `--yes`: agrees to everything here without a word. */
export async function trustHere(cx: Terminal): Promise<void> {
  const agree = await import("../../daemon/trust/agree.ts");
  const project = await projectOf(cx);
  const open = (await agree.listTrust(project)).filter(({ verdict }) => !verdict.allowed);
  if (open.length === 0) return;
  await agree.agreeTo(
    project,
    open.map(({ item }) => item),
  );
  await tellDaemon(cx);
  cx.warn(`trusted because of --yes: ${open.map(({ item }) => `${item.kind} ${item.name}`).join(", ")}`);
}

/** What cannot be trusted as it is, such as a folder with a link out of it, stays untrusted whoever agrees to it. */
function tellRefused(cx: Terminal, refused: readonly Judged[]): number {
  for (const { item, verdict } of refused)
    if (!verdict.allowed) cx.warn(`${item.kind} ${item.name} is still not trusted: ${verdict.message}; ${verdict.fix}`);
  return refused.length === 0 ? exitCodes.ok : exitCodes.failed;
}

function isSame(a: Judged["item"], b: Judged["item"]): boolean {
  return a.kind === b.kind && a.name === b.name;
}

async function consent(cx: Terminal, yes: boolean, question: string): Promise<void> {
  if (yes) return;
  if (!cx.interactive)
    throw new CliError(exitCodes.failed, "nothing was trusted: nobody is here to agree", { hint: "agree with --yes" });
  if ((await askYesNo(cx, question, false)) !== true) throw new CliError(exitCodes.failed, "nothing was trusted");
}

async function projectOf(cx: Terminal) {
  const { harnessNames } = await import("../../daemon/checkup.ts");
  const root = findProjectRoot(cx.cwd);
  return { root, env: cx.env, harnesses: harnessNames(root, cx.env) };
}

function show(cx: Terminal, root: string, judged: readonly Judged[], always: boolean): void {
  if (always) cx.print(`Everything in ${root} is trusted, whatever it becomes.`);
  if (judged.length === 0) cx.print(`Nothing in ${root} runs by itself or sends secrets anywhere.`);
  for (const line of judged.flatMap((one) => lines(cx, one))) cx.print(line);
}

function lines(cx: Terminal, { item, verdict }: Judged): string[] {
  const style = createStyle(cx.color);
  const mark = verdict.allowed ? style.green("trusted  ") : style.yellow(verdict.reason.padEnd(9));
  const more = verdict.allowed || verdict.reason === "untrusted" ? [] : [`             ${style.dim(verdict.message)}`];
  return [`  ${mark}  ${item.kind} ${style.cyan(item.name)} (${item.file})`, `             ${item.what}`, ...more];
}

function plain({ item, verdict }: Judged) {
  const { kind, name, file, what, hash } = item;
  const state = verdict.allowed ? "trusted" : verdict.reason;
  return { kind, name, file, what, hash, state };
}
