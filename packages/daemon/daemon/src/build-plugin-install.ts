/**
 * Changes plugins for a person in the web app, with the installer of the command line. A request without the digest of
 * what was shown prepares the change, reports what it would do, and changes nothing.
 */
import { isAegisError } from "@aegis/contract/errors.ts";
import type { ChangeLine, InstalledPlugin, PluginChange } from "@aegis/contract/plugin-install.ts";
import type { PluginChanges } from "@aegis/http/plugins.ts";
import { FilePlan } from "@aegis/installer/file-plan.ts";
import { readLock } from "@aegis/installer/lockfile.ts";
import type { InstallPlace } from "@aegis/installer/place.ts";
import type { PluginInstaller } from "@aegis/installer/plugin/installer.ts";
import type { ConfirmedContent, InstallerPerson } from "@aegis/installer/plugin/transaction.ts";
import { canonicalJson } from "@aegis/lib/canonical-json.ts";
import type { Environment } from "@aegis/lib/child-env.ts";
import { textDigest } from "@aegis/lib/text-digest.ts";
import type { Plugins } from "@aegis/plugins/plugins.ts";

export type PluginChangesOptions = {
  root: string;
  env: Environment;
  harnesses: readonly string[];
  place: InstallPlace;
  plugins: Pick<Plugins, "list" | "get" | "reload" | "settled">;
  /** Applies changed files immediately instead of waiting for the file watcher. */
  reload: () => Promise<unknown>;
};

/** What a person asks for: the digest of what was shown, the rules to override, and the options. */
type PersonRequest = { accept: string | undefined; override?: readonly string[]; [option: string]: unknown };

type Done = Pick<PluginChange, "outcome" | "version">;

export function buildPluginChanges(options: PluginChangesOptions): PluginChanges {
  const { root, env, harnesses, place, plugins, reload } = options;
  const project = { root, env, harnesses };

  const installerFor = async (person: InstallerPerson, signal: AbortSignal): Promise<PluginInstaller> => {
    // Loaded with the first request: most daemons never install anything.
    const { createInstaller } = await import("@aegis/project/packages/plugin-installer.ts");
    return createInstaller({ root, env, harnesses, person, signal, taken: async () => takenNames(plugins) });
  };

  const change = async (
    request: PersonRequest & { action: string; name: string },
    signal: AbortSignal,
    work: (installer: PluginInstaller, person: ConsentPerson) => Promise<Done>,
  ): Promise<PluginChange> => {
    const person = new ConsentPerson(request);
    try {
      const { editAsOwner } = await import("@aegis/project/trust/agree.ts");
      const installer = await installerFor(person, signal);
      // Consent to an install includes the changes it makes to the project's files.
      const done = await editAsOwner(project, () => work(installer, person));
      await reload();
      await plugins.reload(null);
      await plugins.settled();
      const problem = done.outcome === "removed" ? null : problemOf(plugins, request.name);
      return { ...done, ...person.shown, plugin: request.name, question: null, digest: null, problem };
    } catch (error) {
      if (!person.waits || !isAegisError(error) || error.code !== "forbidden") throw error;
      const { question, digest } = person;
      return {
        outcome: "consent",
        ...person.shown,
        plugin: request.name,
        version: null,
        question,
        digest,
        problem: null,
      };
    }
  };

  return {
    async search(text, signal) {
      const installer = await installerFor(new ConsentPerson({ accept: undefined }), signal);
      const { entries, problems } = await installer.search(text);
      const shown = entries.map(({ name, version, description, registry }) => ({
        name,
        version,
        description,
        registry,
      }));
      return { plugins: shown, problems };
    },
    async installed() {
      const { plugin } = await readLock(new FilePlan(place.root), place);
      return [...plugin.entries()].map(([name, entry]): InstalledPlugin => {
        const { version, source, registry, commit, installed_at, updated_at = null } = entry;
        return { name, version, source, registry, commit, installed_at, updated_at };
      });
    },
    install: (request, signal) =>
      change({ action: "install", ...request }, signal, async (installer) => {
        const { version } = await installer.install(request.name, { from: request.from, force: request.force });
        return { outcome: "installed", version };
      }),
    update: (request, signal) =>
      change({ action: "update", ...request }, signal, async (installer) => {
        const { changed, version } = await installer.update(request.name, { force: request.force });
        return { outcome: changed ? "updated" : "unchanged", version };
      }),
    remove: (request, signal) =>
      change({ action: "remove", ...request }, signal, async (installer, person) => {
        const { dropGates, recordedGates } = await import("@aegis/project/plugins/gates.ts");
        const { name, purge, force } = request;
        const gates = (await recordedGates(project)).find(({ plugin }) => plugin === name);
        if (gates !== undefined)
          person.warn(
            `Its gates are dropped: ${gates.hooks.join(", ")}. The actions they guarded are no longer checked.`,
          );
        if (purge) person.warn("Its data is deleted too.");
        const done = await installer.uninstall(name, { purge, force });
        for (const one of done.kept) person.print(`Kept: ${one}`);
        if (done.data !== null) person.print(`Its data is kept in ${done.data}.`);
        if (gates !== undefined) await dropGates(project, gates);
        return { outcome: "removed", version: null };
      }),
  };
}

/** Confirms only what has the digest that the request accepts. Questions of install scripts get their preset answer. */
class ConsentPerson implements InstallerPerson {
  question: string | null = null;
  digest: string | null = null;
  /** Whether the change waits for the person's consent. */
  waits = false;
  readonly #request: PersonRequest;
  readonly #lines: ChangeLine[] = [];
  #findings: ConfirmedContent["findings"] = [];

  constructor(request: PersonRequest) {
    this.#request = request;
  }

  get shown(): Pick<PluginChange, "lines" | "findings"> {
    return { lines: this.#lines, findings: [...this.#findings] };
  }

  print(text: string): void {
    this.#lines.push({ level: "info", text });
  }

  warn(text: string): void {
    this.#lines.push({ level: "warning", text });
  }

  async confirm(_question: string, preset: boolean): Promise<boolean> {
    return preset;
  }

  async override(): Promise<readonly string[]> {
    return this.#request.override ?? [];
  }

  async agree(question: string, { hash, findings }: ConfirmedContent): Promise<"yes" | "no"> {
    const { accept, ...request } = this.#request;
    this.question = question;
    this.#findings = findings;
    this.digest = textDigest(canonicalJson({ request, question, hash, findings, lines: this.#lines }));
    this.waits = this.digest !== accept;
    return this.waits ? "no" : "yes";
  }
}

function takenNames(plugins: PluginChangesOptions["plugins"]) {
  const loaded = plugins.list().filter(({ status }) => status === "loaded" || status === "restarting");
  return loaded.map(({ name }) => {
    const { tools, workflows } = plugins.get(name).brings;
    return { plugin: name, tools: tools.map((tool) => tool.name), workflows: workflows.map((one) => one.name) };
  });
}

function problemOf(plugins: PluginChangesOptions["plugins"], name: string): string | null {
  const plugin = plugins.list().find((one) => one.name === name);
  if (plugin === undefined) return "the daemon does not find it";
  return plugin.reason === null ? null : `it is ${plugin.status}: ${plugin.reason}`;
}
