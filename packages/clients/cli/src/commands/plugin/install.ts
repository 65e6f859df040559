/**
 * `aegis plugin install|update|uninstall|search`: edits the project's files and reloads the plugin in a running daemon.
 */

import { resolve } from "node:path";
import { findDaemon, tellDaemon } from "../../daemon/connection.ts";
import { columns } from "../../format/columns.ts";
import type { Handler } from "../../program/command.ts";
import { given } from "../../program/given.ts";
import { askYesNo } from "../../terminal/confirm.ts";
import { type CliContext, exitCodes } from "../../terminal/context.ts";
import type { Terminal } from "../../terminal/terminal.ts";
import { projectOf } from "../project/project-of.ts";
import { overriddenRules } from "../skill/override.ts";
import type { pluginCommands } from "./spec.ts";
import { takenNames } from "./taken-names.ts";

type Choices = {
  yes: boolean;
  /** The rules whose malicious findings the user overrides. */
  override?: readonly string[];
};
type Updated = Awaited<ReturnType<Installer["update"]>>;

export const pluginInstall: Handler<typeof pluginCommands.install> = async (cx, args) => {
  const from = args.from === undefined || isSource(args.from) ? args.from : resolve(cx.cwd, args.from);
  const done = await withInstaller(cx, args, (installer) => installer.install(args.name, { from, force: args.force }));
  const problem = await problemInDaemon(cx, done.name);
  const answer = { ok: problem === null, installed: done, ...given({ problem: problem ?? undefined }) };
  cx.show(answer, () => {
    if (problem !== null) return cx.warn(`${done.name} ${done.version} is installed, but the daemon ${problem}`);
    cx.print(`Installed ${done.name} ${done.version}${atCommit(done)}.`);
    cx.tell(addedLines(done.added));
  });
  return problem === null ? exitCodes.ok : exitCodes.failed;
};

type Update = { name: string } & ({ error: string } | Updated);

/** Without a name, updates every plugin, each in its own transaction. One failure does not stop the others. */
export const pluginUpdate: Handler<typeof pluginCommands.update> = async (cx, args) => {
  const updates = await withInstaller(cx, args, async (installer) => {
    const names = args.name === undefined ? [...(await installer.installed()).keys()] : [args.name];
    const done: Update[] = [];
    for (const name of names) {
      try {
        done.push(await installer.update(name, { force: args.force }));
      } catch (error) {
        if (names.length === 1) throw error;
        const { describeError } = await import("../../program/failure.ts");
        done.push({ name, error: describeError(error).message });
      }
    }
    return done;
  });
  const results: Update[] = [];
  for (const done of updates) results.push(await told(cx, done));
  const failed = results.filter((one) => "error" in one).length;
  cx.show({ ok: failed === 0, plugins: results }, results.length === 0 ? "No plugins are installed here." : []);
  return failed === 0 ? exitCodes.ok : exitCodes.failed;
};

/** Tells what became of an update, also in a running daemon. */
async function told(cx: Terminal, done: Update): Promise<Update> {
  if ("error" in done) {
    cx.warn(`${done.name}: ${done.error}`);
    return done;
  }
  const { name, version, previous } = done;
  const problem = done.changed ? await problemInDaemon(cx, name) : null;
  if (problem !== null) {
    cx.warn(`${name} ${version} is installed, but the daemon ${problem}`);
    return { ...done, error: problem };
  }
  const updated = `Updated ${name} ${previous} → ${version}${atCommit(done)}.`;
  cx.tell(done.changed ? updated : `${name} ${version} is up to date.`);
  return done;
}

export const pluginUninstall: Handler<typeof pluginCommands.uninstall> = async (cx, args) => {
  await withInstaller(cx, args, async (installer) => {
    const done = await installer.uninstall(args.name, { purge: args.purge, force: args.force });
    cx.tell(`Uninstalled ${done.name}.`);
    // Uninstalling is the person's decision to drop the plugin's gates. Until that is recorded, the guarded actions are
    // refused.
    const { dropGatesOf } = await import("./gates.ts");
    const dropped_gates = await dropGatesOf(cx, done.name);
    cx.show({ ok: true, uninstalled: done, dropped_gates }, () => [
      ...done.kept.map((one) => `Kept: ${one}`),
      ...(done.data === null ? [] : [`Its data is kept in ${done.data}; --purge deletes it.`]),
    ]);
  });
  await tellDaemon(cx);
};

export const pluginSearch: Handler<typeof pluginCommands.search> = async (cx, args) => {
  return withInstaller(cx, { yes: false }, async (installer) => {
    const { entries, problems } = await installer.search(args.text ?? "");
    const here = await installer.installed();
    const plugins = entries.map((entry) => ({ ...entry, installed: here.get(entry.name)?.version ?? null }));
    cx.show({ plugins, problems }, () => {
      for (const problem of problems) cx.warn(`not listed: ${problem}`);
      if (plugins.length === 0) return cx.print("No registry has a matching plugin.");
      const rows = plugins.map(({ name, version, installed, registry, description }) => [
        { text: name, paint: cx.style.cyan },
        { text: version ?? "-" },
        { text: installed ?? "-" },
        { text: registry },
        { text: description },
      ]);
      const header = ["PLUGIN", "VERSION", "HERE", "REGISTRY", "DESCRIPTION"].map((text) => ({ text }));
      cx.tell(columns(header, rows, cx.columns));
    });
  });
};

/** Loads the plugin in a running daemon and returns the daemon's error. Null if it loaded, or if no daemon runs. */
async function problemInDaemon(cx: Terminal, name: string): Promise<string | null> {
  await tellDaemon(cx);
  const running = await findDaemon(cx);
  if (running === null) return null;
  const { plugins } = await running.client.call("listPlugins");
  const plugin = plugins.find((one) => one.name === name);
  if (plugin === undefined) return "does not find it";
  if (plugin.status === "disabled") {
    cx.warn(`${name} is disabled: ${plugin.reason ?? "by the project's settings"}`);
    return null;
  }
  return plugin.reason === null ? null : `cannot load it (${plugin.status}): ${plugin.reason}`;
}

type Installer = Awaited<ReturnType<typeof import("@aegis/project/packages/plugin-installer.ts")["createInstaller"]>>;

/** Returns when the consent to what `work` changed is recorded: only then can a daemon judge it. */
async function withInstaller<T>(
  cx: Terminal,
  choices: Choices,
  work: (installer: Installer) => Promise<T>,
): Promise<T> {
  const { createInstaller } = await import("@aegis/project/packages/plugin-installer.ts");
  const project = await projectOf(cx);
  const stop = new AbortController();
  const undo = cx.onStop(() => stop.abort(new Error("interrupted; nothing was changed")));
  try {
    const { editAsOwner } = await import("@aegis/project/trust/agree.ts");
    const person = personAt(cx, choices, stop.signal);
    const installer = await createInstaller({
      root: project.root,
      env: project.env,
      harnesses: project.harnesses,
      person,
      signal: stop.signal,
      taken: () => takenNames(cx).catch(() => []),
    });
    // Consent to an install includes the changes it makes to the project's files.
    return await editAsOwner(project, () => work(installer));
  } finally {
    undo();
  }
}

/** With `--json`, messages go to stderr so that stdout stays one document. */
function personAt(cx: CliContext, { yes, override = [] }: Choices, signal: AbortSignal) {
  const print = (line: string) => (cx.json ? cx.warn(line) : cx.print(line));
  return {
    print,
    warn: (line: string) => cx.warn(line),
    async confirm(question: string, preset: boolean): Promise<boolean> {
      if (yes || !cx.interactive) return preset;
      return (await askYesNo(cx, question, preset, signal)) ?? preset;
    },
    override: (rules: readonly string[]) => overriddenRules(cx, override, rules),
    async agree(question: string): Promise<"yes" | "no" | "unavailable"> {
      if (yes) return "yes";
      if (!cx.interactive) return "unavailable";
      return (await askYesNo(cx, question, false, signal)) === true ? "yes" : "no";
    },
  };
}

function addedLines(added: readonly string[]): string[] {
  return added.length === 0 ? [] : [`Added to the project: ${added.join(", ")}`];
}

/** True for anything but a relative path: an absolute path, or text with a scheme or a host. */
function isSource(text: string): boolean {
  return /^(?:\/|[A-Za-z][\w+.-]*:|[\w.-]+@[\w.-]+:)/.test(text);
}

function atCommit({ commit }: { commit: string | null }): string {
  return commit === null ? "" : ` (commit ${commit.slice(0, 12)})`;
}
