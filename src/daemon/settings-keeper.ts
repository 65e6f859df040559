/** Keeps the settings in force and replaces them when the config files change. A bad edit leaves the old ones in force. */
import type { ApiOutput } from "../contract/api.ts";
import { AegisError } from "../contract/errors.ts";
import { detectNativeModel } from "../drivers/native/detect.ts";
import { errorText, type Logger } from "../lib/log.ts";
import type { DriverRegistry } from "../runtime/registry/drivers.ts";
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

type Listener = (settings: Settings, problems: string[]) => Promise<void>;

export class SettingsKeeper {
  readonly #options: KeeperOptions;
  #current: Settings;
  #problems: string[] = [];
  #watch: ConfigWatch | null = null;
  #listener: Listener = async () => {};

  /** Throws `invalid` with every problem when the files cannot be used. */
  static async open(options: KeeperOptions): Promise<SettingsKeeper> {
    const { settings, problems } = await readSettings(settingsOptions(options));
    if (settings === null) {
      throw new AegisError("invalid", `the configuration has ${problems.length} problem(s):\n${problems.join("\n")}`, {
        details: { problems },
      });
    }
    return new SettingsKeeper(options, settings);
  }

  private constructor(options: KeeperOptions, settings: Settings) {
    this.#options = options;
    this.#current = settings;
    options.secrets.setAgents(settings.agents);
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
    const { settings, problems } = await readSettings(settingsOptions(this.#options)).catch((error: unknown) => ({
      settings: null,
      problems: [errorText(error)],
    }));
    this.#problems = problems;
    if (settings) {
      this.#current = settings;
      this.#watch?.follow(settings.files);
      this.#options.secrets.setAgents(settings.agents);
      this.#options.log.info("settings reloaded", { agents: settings.agents.map((agent) => agent.slug) });
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

  describe(): ApiOutput<"config"> {
    return { files: this.#current.files, config: publicConfig(this.#current.config), problems: this.#problems };
  }
}

function settingsOptions(options: KeeperOptions): SettingsOptions {
  return {
    root: options.root,
    env: options.env,
    agent: options.agent,
    harnesses: options.drivers.names,
    findModel: () => detectNativeModel(options.env, fetch, AbortSignal.timeout(detectDeadlineMs)),
  };
}
