/** Keeps the settings in force and replaces them when the config files change. A bad edit leaves the old ones in force. */
import type { ApiOutput } from "../contract/api.ts";
import { AegisError } from "../contract/errors.ts";
import { detectNativeModel } from "../drivers/native/detect.ts";
import { errorText, type Logger } from "../lib/log.ts";
import type { DriverRegistry } from "../runtime/registry/drivers.ts";
import { AgentFiles } from "./agents/files.ts";
import { homeOf, type ProjectTrust } from "./build-trust.ts";
import { publicConfig } from "./config/show.ts";
import { type ConfigWatch, watchConfig } from "./config/watch.ts";
import { probeOnce } from "./probe-cache.ts";
import type { Secrets } from "./secrets.ts";
import { readSettings, type Settings, type SettingsOptions } from "./settings.ts";
import { type Gated, gateSettings, untrustedLine } from "./trust/gate.ts";

export type KeeperOptions = Pick<SettingsOptions, "root" | "env" | "agent"> & {
  drivers: DriverRegistry;
  secrets: Secrets;
  /** Decides what of the project's files has an effect. */
  trust: ProjectTrust;
  log: Logger;
};

/** Looking for a local model must not hold up the start. */
const detectDeadlineMs = 1_000;
/** A log that repeats a thousand broken files helps nobody. */
const tellAtMost = 20;

type Listener = (settings: Gated, problems: string[]) => Promise<void>;

export class SettingsKeeper {
  readonly #options: KeeperOptions;
  readonly #settings: SettingsOptions;
  #current: Gated;
  #problems: string[] = [];
  #watch: ConfigWatch | null = null;
  #listener: Listener = async () => {};

  /** Throws `invalid` with every problem when the files cannot be used. */
  static async open(options: KeeperOptions): Promise<SettingsKeeper> {
    const reading = settingsOptions(options);
    const { settings, problems } = await readSettings(reading);
    if (settings === null) {
      throw new AegisError("invalid", `the configuration has ${problems.length} problem(s):\n${problems.join("\n")}`, {
        details: { problems },
      });
    }
    return new SettingsKeeper(options, reading, await gated(options, settings));
  }

  private constructor(options: KeeperOptions, reading: SettingsOptions, settings: Gated) {
    this.#options = options;
    this.#settings = reading;
    this.#current = settings;
    options.secrets.setAgents(settings.agents);
    this.#tell(settings);
  }

  get current(): Gated {
    return this.#current;
  }

  /** What is wrong with the files now, when they could not be taken over. */
  get problems(): string[] {
    return this.#problems;
  }

  /** Called after each change, also one that was refused. */
  onChange(listener: Listener): void {
    this.#listener = listener;
  }

  /** Reads the files again. */
  async reload(): Promise<ApiOutput<"reloadConfig">> {
    const { settings, problems } = await readSettings(this.#settings).catch((error: unknown) => ({
      settings: null,
      problems: [errorText(error)],
    }));
    this.#problems = problems;
    if (settings) {
      this.#current = await gated(this.#options, settings);
      this.#watch?.follow(this.#followed(settings.files));
      this.#options.secrets.setAgents(settings.agents);
      this.#options.log.info("settings reloaded", { agents: settings.agents.map((agent) => agent.slug) });
      this.#tell(this.#current);
    } else {
      this.#options.log.warn("the changed settings have problems; the old ones stay in force", { problems });
    }
    await this.#listener(this.#current, problems);
    return { ok: problems.length === 0, problems };
  }

  /** Follows the files. Returns its undo. */
  watch(): () => void {
    const stop = new AbortController();
    const watch = watchConfig({
      root: this.#options.root,
      home: this.#settings.home,
      signal: stop.signal,
      onError: (error) => this.#options.log.warn("changed settings may go unseen", { error: errorText(error) }),
      onChange: () => {
        this.reload().catch((error: unknown) =>
          this.#options.log.error("settings could not be reloaded", { error: errorText(error) }),
        );
      },
    });
    watch.follow(this.#followed(this.#current.files));
    this.#watch = watch;
    return () => stop.abort();
  }

  /** What the user agrees to takes effect at once, and so does taking it back. */
  #followed(files: readonly string[]): string[] {
    return [...files, this.#options.trust.store.path];
  }

  #tell({ diagnostics, untrusted }: Gated): void {
    for (const { file, line, message } of diagnostics.slice(0, tellAtMost))
      this.#options.log.warn("an agent file has a problem", { file, line, message });
    for (const one of untrusted.slice(0, tellAtMost))
      this.#options.log.warn("has no effect until you agree to it with: aegis trust", { what: untrustedLine(one) });
  }

  describe(): ApiOutput<"config"> {
    return { files: this.#current.files, config: publicConfig(this.#current.config), problems: this.#problems };
  }
}

function gated({ trust }: KeeperOptions, settings: Settings): Promise<Gated> {
  return gateSettings(trust.root, settings, trust.trust);
}

export function settingsOptions(options: Pick<KeeperOptions, "root" | "env" | "agent" | "drivers">): SettingsOptions {
  return {
    root: options.root,
    env: options.env,
    agent: options.agent,
    home: homeOf(options.env),
    agentFiles: new AgentFiles(),
    harnesses: options.drivers.names,
    probe: (harness, path) => probeOnce(options.drivers.get(harness), path, homeOf(options.env)),
    findModel: () => detectNativeModel(options.env, fetch, AbortSignal.timeout(detectDeadlineMs)),
  };
}
