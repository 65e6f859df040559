/** Checks whether a skill's requirements are met and describes what is missing. */
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, join } from "node:path";
import type { Environment } from "@aegis/lib/child-env.ts";
import { stampAt } from "./scan.ts";
import type { SkillNeeds, SkillOutline } from "./skill.ts";

export type SkillEligibility = { eligible: boolean; missing: string[]; notes: string[] };

export type RequirementsOptions = {
  /** Called each time. */
  env: () => Environment;
  /** The settings that `requires.config` names. */
  config: () => unknown;
  platform: NodeJS.Platform;
};

const fine: SkillEligibility = { eligible: true, missing: [], notes: [] };

export class SkillRequirements {
  readonly #options: RequirementsOptions;
  #signature = "";
  #programs = new Map<string, boolean>();
  #verdicts = new WeakMap<SkillOutline, SkillEligibility>();

  constructor(options: RequirementsOptions) {
    this.#options = options;
  }

  /** Clears the cache if programs, variables or settings changed. Returns a key: equal keys mean equal verdicts. */
  refresh(): string {
    const { PATH: path = "", ...rest } = this.#options.env();
    const folders = path.split(delimiter).filter((folder) => folder !== "");
    const names = Object.keys(rest).filter((name) => (rest[name] ?? "").trim() !== "");
    const signature = JSON.stringify([
      folders.map((folder) => [folder, stampAt(folder)]),
      names,
      this.#options.config(),
    ]);
    if (signature !== this.#signature) {
      this.#signature = signature;
      this.#programs = new Map();
      this.#verdicts = new WeakMap();
    }
    return signature;
  }

  check(skill: SkillOutline): SkillEligibility {
    const known = this.#verdicts.get(skill);
    if (known !== undefined) return known;
    const verdict = this.#judge(skill.needs);
    this.#verdicts.set(skill, verdict);
    return verdict;
  }

  #judge(needs: SkillNeeds): SkillEligibility {
    const { platform } = this.#options;
    const missing: string[] = [...needs.unreadable];
    if (needs.os.length > 0 && !needs.os.includes(platform))
      missing.push(`it is for ${needs.os.join(" or ")}, this is ${platform}`);
    if (!needs.always) missing.push(...this.#unmet(needs));
    const { primaryEnv } = needs;
    const unset = primaryEnv !== null && !this.#isSet(primaryEnv) && !needs.env.includes(primaryEnv);
    const notes = unset ? [`${primaryEnv}, its main key, is not set`] : [];
    return missing.length === 0 && notes.length === 0 ? fine : { eligible: missing.length === 0, missing, notes };
  }

  #unmet({ bins, anyBins, env, config }: SkillNeeds): string[] {
    const missing = bins.filter((name) => !this.#isProgram(name)).map((name) => `no program ${name} on PATH`);
    if (anyBins.length > 0 && !anyBins.some((name) => this.#isProgram(name)))
      missing.push(`none of these programs on PATH: ${anyBins.join(", ")}`);
    for (const name of env) if (!this.#isSet(name)) missing.push(`${name} is not set in the environment`);
    for (const path of config) if (!isOn(this.#options.config(), path)) missing.push(`the setting ${path} is not on`);
    return missing;
  }

  #isSet(name: string): boolean {
    return (this.#options.env()[name] ?? "").trim() !== "";
  }

  #isProgram(name: string): boolean {
    const known = this.#programs.get(name);
    if (known !== undefined) return known;
    const found = isOnPath(name, this.#options.env().PATH ?? "");
    this.#programs.set(name, found);
    return found;
  }
}

/** A name with a slash is a path, which a skill may not require. */
function isOnPath(name: string, path: string): boolean {
  if (name.includes("/") || name.includes("\0")) return false;
  return path.split(delimiter).some((folder) => {
    if (folder === "") return false;
    try {
      const file = join(folder, name);
      accessSync(file, constants.X_OK);
      return statSync(file).isFile();
    } catch {
      return false;
    }
  });
}

/** Whether the value at `a.b.c` exists and is not off. */
function isOn(config: unknown, path: string): boolean {
  let value = config;
  for (const key of path.split(".")) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return false;
    value = (value as Record<string, unknown>)[key];
  }
  return Array.isArray(value) ? value.length > 0 : Boolean(value);
}
