/**
 * Holds the current settings and replaces them when the config files change. An invalid edit keeps the previous
 * settings.
 */

import type { ApiOutput } from "@aegis/contract/api.ts";
import { AegisError } from "@aegis/contract/errors.ts";
import type { DriverTable } from "@aegis/drivers/driver-table.ts";
import { detectNativeModel } from "@aegis/drivers/native/detect.ts";
import { homeOf } from "@aegis/lib/home.ts";
import { errorText, type Logger } from "@aegis/lib/log.ts";
import { AgentFiles } from "./agents/files.ts";
import { publicConfig } from "./config/show.ts";
import { type ConfigWatch, watchConfig } from "./config/watch.ts";
import { probeOnce } from "./harnesses/probe-cache.ts";
import type { Secrets } from "./secrets.ts";
import { readSettings, type Settings, type SettingsOptions } from "./settings.ts";
import { Contents } from "./trust/contents.ts";
import type { ProjectTrust } from "./trust/project-trust.ts";
import { type TrustedSettings, trustedSettings, type UntrustedItem, untrustedLine } from "./trust/trusted-settings.ts";

export type ConfigServiceOptions = Pick<SettingsOptions, "root" | "env" | "agent"> & {
  drivers: DriverTable;
  secrets: Secrets;
  /** Decides which parts of the project's files take effect. */
  trust: ProjectTrust;
  log: Logger;
};

/** Detecting a local model must not delay the start. */
const detectDeadlineMs = 1_000;
/** Limits the number of broken files that one log entry lists. */
const tellAtMost = 20;

type Listener = (settings: TrustedSettings, problems: string[]) => Promise<void>;

export class ConfigService {
  readonly #options: ConfigServiceOptions;
  readonly #settings: SettingsOptions;
  /** The settings before untrusted parts were removed. */
  #said: Settings;
  #current: TrustedSettings;
  readonly #contents = new Contents();
  #noticed = "";
  #problems: string[] = [];
  #watch: ConfigWatch | null = null;
  #listener: Listener = async () => {};

  /** Throws `invalid` with all problems if the files are unusable. */
  static async open(options: ConfigServiceOptions): Promise<ConfigService> {
    const reading = settingsOptions(options);
    const { settings, problems } = await readSettings(reading);
    if (settings === null) {
      throw new AegisError("invalid", `the configuration is not valid:\n${problems.join("\n")}`, {
        details: { problems },
      });
    }
    return new ConfigService(options, reading, settings, await trustedPart(options, settings, new Contents()));
  }

  private constructor(
    options: ConfigServiceOptions,
    reading: SettingsOptions,
    said: Settings,
    settings: TrustedSettings,
  ) {
    this.#options = options;
    this.#settings = reading;
    this.#said = said;
    this.#current = settings;
    options.secrets.setAgents(settings.agents);
    this.#tell(settings);
  }

  /** The current settings. */
  readonly settings = (): TrustedSettings => this.#current;

  /**
   * Returns what currently has no effect. The content of files that settings name can change while the settings stay
   * the same; if that changes the result, the settings are reloaded so that all readers see the same.
   */
  async untrusted(): Promise<readonly UntrustedItem[]> {
    const { untrusted } = await trustedPart(this.#options, this.#said, this.#contents);
    const seen = key(untrusted);
    if (seen === key(this.#current.untrusted)) return untrusted;
    // Settings that could not be applied are not retried on every call.
    if (seen !== this.#noticed) await this.reload();
    this.#noticed = seen;
    return untrusted;
  }

  /** The current problems of the files, if they could not be applied. */
  get problems(): string[] {
    return this.#problems;
  }

  /** Called after each change, including refused ones. */
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
      this.#said = settings;
      this.#current = await trustedPart(this.#options, settings, this.#contents);
      this.#watch?.follow(this.#followed(settings.files), settings.agentFolders);
      this.#options.secrets.setAgents(settings.agents);
      this.#options.log.info("settings reloaded", { agents: settings.agents.map((agent) => agent.slug) });
      this.#tell(this.#current);
    } else {
      this.#options.log.warn("the changed settings have problems; the old ones stay in effect", { problems });
    }
    await this.#listener(this.#current, problems);
    return { ok: problems.length === 0, problems };
  }

  /** Watches the files. Returns a function that stops watching. */
  watch(): () => void {
    const stop = new AbortController();
    const watch = watchConfig({
      root: this.#options.root,
      home: this.#settings.home,
      signal: stop.signal,
      onError: (error) => this.#options.log.warn("changed settings may go unnoticed", { error: errorText(error) }),
      onChange: () => {
        this.reload().catch((error: unknown) =>
          this.#options.log.error("settings could not be reloaded", { error: errorText(error) }),
        );
      },
    });
    watch.follow(this.#followed(this.#current.files), this.#current.agentFolders);
    this.#watch = watch;
    return () => stop.abort();
  }

  /** Granting or revoking trust takes effect immediately. */
  #followed(files: readonly string[]): string[] {
    return [...files, this.#options.trust.store.path];
  }

  #tell({ diagnostics, untrusted }: TrustedSettings): void {
    for (const { file, line, message } of diagnostics.slice(0, tellAtMost))
      this.#options.log.warn("an agent file has a problem", { file, line, message });
    for (const one of untrusted.slice(0, tellAtMost))
      this.#options.log.warn("has no effect until you agree to it with: aegis trust", { what: untrustedLine(one) });
  }

  describe(): ApiOutput<"config"> {
    const { config, files, declaredSecrets } = this.#current;
    return { files, config: publicConfig(config, declaredSecrets), problems: this.#problems };
  }
}

function trustedPart(
  { trust }: ConfigServiceOptions,
  settings: Settings,
  contents: Contents,
): Promise<TrustedSettings> {
  return trustedSettings(trust.root, settings, trust.trust, contents);
}

function key(untrusted: readonly UntrustedItem[]): string {
  return untrusted.map(({ item, reason }) => `${reason} ${item.kind}:${item.name} ${item.hash}`).join("\n");
}

export function settingsOptions(
  options: Pick<ConfigServiceOptions, "root" | "env" | "agent" | "drivers">,
): SettingsOptions {
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
