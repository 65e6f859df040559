/** Fetches a skill and looks it through, beside where it is to go. Nothing is in use before it is put in place. */
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { AegisError } from "../../../contract/errors.ts";
import type { FetchedSkill, SkillFinding } from "../../../contract/skill-install.ts";
import { copyTree } from "../../../lib/safe-tree.ts";
import type { TreeLimits } from "../../../lib/tree-rules.ts";
import { type InstallPlace, ignoredNames, makeStage, skillHash, stagedTree } from "./activation.ts";
import { fetchMaterial, type MaterialOptions } from "./material.ts";
import { folderName, pickSkill } from "./pick.ts";
import { asAegisError } from "./problems.ts";
import { scanSkill, verdictOf } from "./scan.ts";
import { type SkillSourceSpec, sourceText } from "./source.ts";

export type Wanted = {
  source: SkillSourceSpec;
  written: string;
  /** Which one, when the source holds several. */
  name: string | null;
};

export type Staged = { stage: string; place: InstallPlace; folder: string; skill: FetchedSkill; stagedAt: number };

/** Of one skill, once it is found. */
const skillLimits: Partial<TreeLimits> = { files: 1000, bytes: 30 << 20, fileBytes: 5 << 20 };

/** Throws for what must not be installed; nothing is left of it then. */
export async function stageSkill(
  { source, written, name }: Wanted,
  place: InstallPlace,
  options: MaterialOptions,
  signal: AbortSignal,
): Promise<Staged> {
  const stage = await makeStage(place);
  const material = join(stage, "material");
  try {
    const {
      folder: found,
      fallbackName,
      version,
      commit,
      findings: known,
    } = await fetchMaterial(source, material, options, signal);
    const { skill, folder: from } = await pickSkill(found, fallbackName, name, signal);
    const folder = folderName(skill);
    const tree = stagedTree(stage);
    await mkdir(tree);
    const { files, bytes } = await copyTree(from, tree, { limits: skillLimits, skip: ignoredNames, signal });
    await rm(material, { recursive: true, force: true });
    const findings = [...known, ...(await scanSkill(tree, signal))];
    const verdict = verdictOf(findings);
    if (verdict === "malicious") throw malicious(skill.name, findings);
    const fetched: FetchedSkill = {
      name: skill.name,
      description: skill.description,
      scope: place.scope,
      folder: join(place.skills, folder),
      source: sourceText(source, written),
      version,
      commit,
      hash: await skillHash(tree),
      files,
      bytes,
      verdict: verdict === "suspicious" ? "suspicious" : "clean",
      findings,
      replaces: null,
    };
    return { stage, place, folder, skill: fetched, stagedAt: options.clock.now() };
  } catch (error) {
    await rm(stage, { recursive: true, force: true });
    throw asAegisError(error);
  }
}

function malicious(name: string, findings: readonly SkillFinding[]): AegisError {
  const worst = findings.filter(({ severity }) => severity === "malicious");
  const first = worst.slice(0, 3).map(({ file, line, message }) => `${file}:${line ?? 1} ${message}`);
  return new AegisError("forbidden", `"${name}" is refused: ${first.join("; ")}`, {
    hint: "nothing overrides this; read the files yourself if you want to know more",
    details: { findings },
  });
}
