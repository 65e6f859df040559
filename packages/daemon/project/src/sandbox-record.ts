/**
 * `~/.aegis/sandboxes.json`: what ran confined in each project, and how. The file is outside the project, so that a
 * change of project files cannot take a sandbox away.
 */
import { realpath } from "node:fs/promises";
import { join } from "node:path";
import { type SandboxLevel, sandboxLevelSchema } from "@aegis/contract/sandbox.ts";
import type { Environment } from "@aegis/lib/child-env.ts";
import { homeOf } from "@aegis/lib/home.ts";
import { ProjectsFile } from "@aegis/plugins/projects-file.ts";
import { isWeaker } from "@aegis/sandbox/reach.ts";
import { z } from "zod";
import { withLock } from "./config/lock.ts";

const fileSchema = z.object({
  sandboxes_version: z.literal(1),
  projects: z.record(z.string(), z.record(z.string(), sandboxLevelSchema)),
});
const emptyFile: z.infer<typeof fileSchema> = { sandboxes_version: 1, projects: {} };

/** The name of the project's own programs, and of agents that leave the level to the project. */
export const wholeProject = "project";

/** By `wholeProject` and `agent NAME`. */
export type SandboxLevels = Readonly<Record<string, SandboxLevel>>;

export class SandboxRecord {
  readonly #root: string;
  readonly #file: ProjectsFile<Record<string, SandboxLevel>>;

  /** `root` is the project's real path. */
  constructor(root: string, env: Environment) {
    this.#root = root;
    this.#file = new ProjectsFile({
      path: join(homeOf(env), ".aegis", "sandboxes.json"),
      exclusive: withLock,
      schema: fileSchema,
      empty: emptyFile,
      hint: "it lists what ran confined; repair it, or remove it to accept the present settings of all projects",
    });
  }

  /** Throws `invalid` if the file is unusable: it is then unknown what must be confined. */
  async read(): Promise<SandboxLevels> {
    return (await this.#file.get(this.#root)) ?? {};
  }

  /** Durable when it resolves. A recorded level never becomes weaker. */
  async raise(subject: string, level: SandboxLevel): Promise<void> {
    const known = (await this.read())[subject] ?? "off";
    if (!isWeaker(known, level)) return;
    await this.#file.update(this.#root, (before = {}) =>
      isWeaker(before[subject] ?? "off", level) ? { ...before, [subject]: level } : before,
    );
  }

  /** The project was moved: what it is confined to stays. */
  async takeOver(from: string): Promise<void> {
    for (const [subject, level] of Object.entries((await this.#file.get(from)) ?? {})) await this.raise(subject, level);
  }

  /** A person accepts that the present settings decide. */
  async forget(): Promise<void> {
    await this.#file.update(this.#root, () => null);
  }
}

/** For commands that need no daemon. */
export async function sandboxRecord({ root, env }: { root: string; env: Environment }): Promise<SandboxRecord> {
  return new SandboxRecord(await realpath(root), env);
}
