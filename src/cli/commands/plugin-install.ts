/** `aegis plugin install|update|uninstall|search`: works on the project's files, and has a running daemon take over what changed. */
import { resolve } from "node:path";
import { findProjectRoot } from "../../lib/daemon-file.ts";
import { askYesNo } from "../ask-yes-no.ts";
import { type CliContext, exitCodes } from "../context.ts";
import { columns } from "../format/columns.ts";
import { createStyle } from "../format/style.ts";
import { tellDaemon } from "../tell-daemon.ts";
import type { Terminal } from "../terminal.ts";

type Yes = { yes: boolean };

export async function pluginInstall(
  cx: Terminal,
  args: Yes & { name: string; from: string | undefined; force: boolean },
): Promise<number> {
  const from = args.from === undefined || isSource(args.from) ? args.from : resolve(cx.cwd, args.from);
  return changing(cx, args, async (installer) => {
    const done = await installer.install(args.name, { from, force: args.force });
    if (cx.json) cx.printJson({ ok: true, installed: done });
    else {
      cx.print(`Installed ${done.name} ${done.version}${atCommit(done)}.`);
      for (const line of addedLines(done.added)) cx.print(line);
    }
    return exitCodes.ok;
  });
}

/** Without a name all of them, each in a transaction of its own; one that fails does not keep the others back. */
export async function pluginUpdate(
  cx: Terminal,
  args: Yes & { name: string | undefined; force: boolean },
): Promise<number> {
  return changing(cx, args, async (installer) => {
    const names = args.name === undefined ? Object.keys(await installer.installed()) : [args.name];
    const results = [];
    let failed = 0;
    for (const name of names) {
      try {
        const done = await installer.update(name, { force: args.force });
        results.push(done);
        if (cx.json) continue;
        if (done.changed) cx.print(`Updated ${name} ${done.previous} → ${done.version}${atCommit(done)}.`);
        else cx.print(`${name} ${done.version} is up to date.`);
      } catch (error) {
        if (names.length === 1) throw error;
        failed++;
        const { describeError } = await import("../failure.ts");
        const { message } = describeError(error);
        results.push({ name, error: message });
        cx.warn(`${name}: ${message}`);
      }
    }
    if (cx.json) cx.printJson({ ok: failed === 0, plugins: results });
    else if (names.length === 0) cx.print("No plugin was installed here.");
    return failed === 0 ? exitCodes.ok : exitCodes.failed;
  });
}

export async function pluginUninstall(
  cx: Terminal,
  args: Yes & { name: string; purge: boolean; force: boolean },
): Promise<number> {
  return changing(cx, args, async (installer) => {
    const done = await installer.uninstall(args.name, { purge: args.purge, force: args.force });
    if (cx.json) {
      cx.printJson({ ok: true, uninstalled: done });
      return exitCodes.ok;
    }
    cx.print(`Uninstalled ${done.name}.`);
    for (const one of done.kept) cx.print(`Kept: ${one}`);
    if (done.data !== null) cx.print(`Its data is kept in ${done.data}; --purge deletes it.`);
    return exitCodes.ok;
  });
}

export async function pluginSearch(cx: Terminal, args: { text: string | undefined }): Promise<number> {
  return withInstaller(cx, { yes: false }, async (installer) => {
    const { offers, problems } = await installer.search(args.text ?? "");
    const here = await installer.installed();
    if (cx.json) {
      cx.printJson({
        plugins: offers.map((offer) => ({ ...offer, installed: here[offer.name]?.version ?? null })),
        problems,
      });
      return exitCodes.ok;
    }
    for (const problem of problems) cx.warn(`not searched: ${problem}`);
    if (offers.length === 0) cx.print("No registry has such a plugin.");
    else {
      const style = createStyle(cx.color);
      const rows = offers.map((offer) => [
        { text: offer.name, paint: style.cyan },
        { text: offer.version ?? "-" },
        { text: here[offer.name]?.version ?? "-" },
        { text: offer.registry },
        { text: offer.description },
      ]);
      const header = ["PLUGIN", "VERSION", "HERE", "REGISTRY", "DESCRIPTION"].map((text) => ({ text }));
      for (const line of columns(header, rows, cx.columns)) cx.print(line);
    }
    return exitCodes.ok;
  });
}

type Installer = Awaited<ReturnType<typeof import("../../daemon/plugin-install/installer.ts")["createInstaller"]>>;

async function changing(cx: Terminal, yes: Yes, work: (installer: Installer) => Promise<number>): Promise<number> {
  const code = await withInstaller(cx, yes, work);
  await tellDaemon(cx);
  return code;
}

async function withInstaller(
  cx: Terminal,
  { yes }: Yes,
  work: (installer: Installer) => Promise<number>,
): Promise<number> {
  const { createInstaller } = await import("../../daemon/plugin-install/installer.ts");
  const { harnessNames } = await import("../../daemon/checkup.ts");
  const root = findProjectRoot(cx.cwd);
  const stop = new AbortController();
  const undo = cx.onStop(() => stop.abort(new Error("interrupted; nothing was changed")));
  try {
    const { editAsOwner } = await import("../../daemon/trust/agree.ts");
    const harnesses = harnessNames(root, cx.env);
    const person = personAt(cx, yes, stop.signal);
    const installer = await createInstaller({ root, env: cx.env, harnesses, person, signal: stop.signal });
    // Whoever agrees to an install agrees to what it adds to the project's files.
    return await editAsOwner({ root, env: cx.env, harnesses }, () => work(installer));
  } finally {
    undo();
  }
}

/** What is told goes to stderr with `--json`, so that stdout stays one document. */
function personAt(cx: CliContext, yes: boolean, signal: AbortSignal) {
  const print = (line: string) => (cx.json ? cx.warn(line) : cx.print(line));
  return {
    print,
    warn: (line: string) => cx.warn(line),
    async confirm(question: string, preset: boolean): Promise<boolean> {
      if (yes || !cx.interactive) return preset;
      return (await askYesNo(cx, question, preset, signal)) ?? preset;
    },
    async agree(question: string): Promise<"yes" | "no" | "nobody"> {
      if (yes) return "yes";
      if (!cx.interactive) return "nobody";
      return (await askYesNo(cx, question, false, signal)) === true ? "yes" : "no";
    },
  };
}

function addedLines(added: readonly string[]): string[] {
  return added.length === 0 ? [] : [`Added to the project: ${added.join(", ")}`];
}

function isSource(text: string): boolean {
  return /^(gh:|git\+|file:|bundled:|\/)/.test(text);
}

function atCommit({ commit }: { commit: string | null }): string {
  return commit === null ? "" : ` (commit ${commit.slice(0, 12)})`;
}
