/** Asks systemd or launchd about the service of a project, and starts and stops it. */
import { AegisError } from "@aegis/contract/errors.ts";
import { type Environment, programOutput } from "../../terminal/user-programs.ts";
import type { ServiceFile } from "./service-file.ts";

export type ServiceState = { enabled: boolean; running: boolean };

export type ServiceManager = {
  /** Throws, with the way out, if the manager does not answer this user. */
  check(): Promise<void>;
  /** Reads the file, lets it start with the user's session, and starts it now unless a daemon runs already. */
  enable(file: ServiceFile, options: { start: boolean }): Promise<void>;
  /** Stops the service, and forgets it. */
  disable(file: ServiceFile): Promise<void>;
  /** After its file was removed. */
  forget(): Promise<void>;
  state(file: ServiceFile): Promise<ServiceState>;
  /** What a person does so that it also runs before they log in, if anything. */
  readonly atBoot: string | null;
};

const ms = 90_000;

export function createManager(file: ServiceFile, env: Environment): ServiceManager {
  return file.kind === "systemd" ? systemd(env) : launchd(env);
}

function systemd(env: Environment): ServiceManager {
  const ask = (...args: string[]) => programOutput(["systemctl", "--user", ...args], { env, ms });
  const must = async (...args: string[]) => {
    const { code, output } = await ask(...args);
    if (code !== 0) throw failure(`systemctl --user ${args.join(" ")}`, output);
  };
  return {
    atBoot: "loginctl enable-linger",
    async check() {
      const { code, output } = await ask("show-environment");
      if (code === 0) return;
      throw new AegisError("unavailable", `systemd does not manage services of this user: ${firstLine(output)}`, {
        hint: "start the daemon with: aegis up. `aegis service install --print` prints the file for another manager",
      });
    },
    async enable({ name }, { start }) {
      await must("daemon-reload");
      await must("enable", ...(start ? ["--now"] : []), name);
    },
    disable: ({ name }) => must("disable", "--now", name),
    forget: () => must("daemon-reload"),
    async state({ name }) {
      const [enabled, active] = await Promise.all([ask("is-enabled", name), ask("is-active", name)]);
      return { enabled: enabled.code === 0, running: active.code === 0 };
    },
  };
}

function launchd(env: Environment): ServiceManager {
  const domain = `gui/${process.getuid?.() ?? 0}`;
  const ask = (...args: string[]) => programOutput(["launchctl", ...args], { env, ms });
  return {
    atBoot: null,
    async check() {
      const { code, output } = await ask("print", domain);
      if (code !== 0) throw failure(`launchctl print ${domain}`, output);
    },
    /** launchd has no way to load a service that runs at load without starting it. */
    async enable({ path }, { start }) {
      if (!start) return;
      const { code, output } = await ask("bootstrap", domain, path);
      if (code !== 0) throw failure(`launchctl bootstrap ${domain} ${path}`, output);
    },
    async disable({ name }) {
      await ask("bootout", `${domain}/${name}`);
    },
    async forget() {},
    async state({ name }) {
      const { code, output } = await ask("print", `${domain}/${name}`);
      return { enabled: code === 0, running: /\bstate = running\b/.test(output) };
    },
  };
}

function failure(command: string, output: string): AegisError {
  return new AegisError("unavailable", `\`${command}\` failed: ${firstLine(output)}`);
}

function firstLine(output: string): string {
  return output.trim().split("\n")[0] ?? "";
}
