/** Keeps the settings in force and replaces them when the config files change. A bad edit leaves the old ones in force. */
import { homedir } from "node:os";
import type { AgentDiagnostic } from "../contract/agent.ts";
import type { ApiOutput } from "../contract/api.ts";
import { AegisError } from "../contract/errors.ts";
import { detectNativeModel } from "../drivers/native/detect.ts";
import { errorText, type Logger } from "../lib/log.ts";
import type { DriverRegistry } from "../runtime/registry/drivers.ts";
import { AgentFiles } from "./agents/files.ts";
import { publicConfig } from "./config/show.ts";
import { type ConfigWatch, watchConfig } from "./config/watch.ts";
import type { Secrets } from "./secrets.ts";
import { readSettings, type Settings, type SettingsOptions } from "./settings.ts";

export type KeeperOptions = Pick<SettingsOptions, "root" | "env" | "agent"> & {
  drivers: DriverRegistry;
  secrets: Secrets;
  log: Logger;
};

/** Looking for a local model must not hold up the start. */
const detectDeadlineMs = 1_000;
/** A log that repeats a thousand broken files helps nobody. */
const tellAtMost = 20;

type Listener = (settings: Settings, problems: string[]) => Promise<void>;

export class SettingsKeeper {
  readonly #options: KeeperOptions;
  readonly #settings: SettingsOptions;
  #current: Settings;
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
    return new SettingsKeeper(options, reading, settings);
  }

  private constructor(options: KeeperOptions, reading: SettingsOptions, settings: Settings) {
    this.#options = options;
    this.#settings = reading;
    this.#current = settings;
    options.secrets.setAgents(settings.agents);
    this.#tell(settings.diagnostics);
  }

  get current(): Settings {
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
      this.#current = settings;
      this.#watch?.follow(settings.files);
      this.#options.secrets.setAgents(settings.agents);
      this.#options.log.info("settings reloaded", { agents: settings.agents.map((agent) => agent.slug) });
      this.#tell(settings.diagnostics);
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
    watch.follow(this.#current.files);
    this.#watch = watch;
    return () => stop.abort();
  }

  #tell(diagnostics: readonly AgentDiagnostic[]): void {
    for (const { file, line, message } of diagnostics.slice(0, tellAtMost))
      this.#options.log.warn("an agent file has a problem", { file, line, message });
  }

  describe(): ApiOutput<"config"> {
    return { files: this.#current.files, config: publicConfig(this.#current.config), problems: this.#problems };
  }
}

function settingsOptions(options: KeeperOptions): SettingsOptions {
  return {
    root: options.root,
    env: options.env,
    agent: options.agent,
    home: options.env.HOME ?? homedir(),
    agentFiles: new AgentFiles(),
    harnesses: options.drivers.names,
    findModel: () => detectNativeModel(options.env, fetch, AbortSignal.timeout(detectDeadlineMs)),
  };
}
