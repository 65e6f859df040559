/** Prints what a person sees before confirming. */
import type { Environment } from "@aegis/lib/child-env.ts";
import { exists } from "@aegis/lib/files.ts";
import type { Processes } from "@aegis/lib/process.ts";
import { placeText } from "@aegis/plugins/host/errors.ts";
import type { PreparedPackage } from "../installer.ts";
import type { LockEntry } from "../lockfile.ts";
import { capabilitiesOf, capabilityLines, compareCapabilities } from "./capabilities.ts";
import { manifestOf, type PluginInfo } from "./kind.ts";
import type { Person } from "./script.ts";
import { changeLines, compareFiles, diffLines, fileHashes } from "./tree-changes.ts";

export type ToTell = { name: string; staged: PreparedPackage<PluginInfo>; person: Person };

/** Shows what a new plugin would run. */
export async function tellInstall({ name, staged, person }: ToTell): Promise<void> {
  const { dir } = staged;
  const { manifest } = staged.about;
  person.print(`${name} ${manifest.version} from ${staged.source.text}${atCommit(staged)}`);
  if (manifest.description !== "") person.print(`  ${manifest.description}`);
  const lines = capabilityLines(await capabilitiesOf(dir, manifest));
  for (const line of lines.length === 0 ? ["nothing that runs"] : lines) person.print(`  ${line}`);
  tellWarnings(staged, person);
}

/** Includes the file, because a warning concerns a file. */
function tellWarnings({ about, findings }: PreparedPackage<PluginInfo>, person: Person): void {
  for (const { severity, file, line, message, rule, quoted, excerpt } of findings) {
    const place = placeText({ file, line });
    person.warn(`  ${severity} ${place}${message} (${rule}${quoted === true ? ", quoted" : ""})`);
    if (excerpt !== "") person.warn(`      ${excerpt}`);
  }
  for (const { file, line, message } of about.warnings) person.warn(`  ${placeText({ file, line })}${message}`);
}

/** Shows how another version differs from the installed one: its files, its capabilities and its code. */
export async function tellUpdate(
  { name, staged, person }: ToTell,
  here: { dir: string; entry: LockEntry },
  deps: { processes: Processes; env: Environment },
): Promise<void> {
  const { manifest } = staged.about;
  person.print(`${name} ${here.entry.version} → ${manifest.version} from ${staged.source.text}${atCommit(staged)}`);
  const there = await exists(here.dir);
  const changes = compareFiles(there ? await fileHashes(here.dir) : {}, await fileHashes(staged.dir));
  for (const line of changeLines(changes)) person.print(`  ${line}`);
  const rights = await capabilitiesOf(staged.dir, manifest);
  const before = there ? await manifestOf(here.dir).catch(() => null) : null;
  const compared =
    before === null
      ? capabilityLines(rights).map((line) => `+ ${line}`)
      : compareCapabilities(await capabilitiesOf(here.dir, before), rights);
  person.print(compared.length === 0 ? "What it may do stays the same." : "What it may do changes:");
  for (const line of compared) person.print(`  ${line}`);
  tellWarnings(staged, person);
  if (!there) return;
  const diff = await diffLines(here.dir, staged.dir, { ...deps, cwd: here.dir });
  for (const line of diff ?? ["(install git to see the lines that differ)"]) person.print(line);
}

function atCommit({ commit }: PreparedPackage<PluginInfo>): string {
  return commit === null ? "" : ` (commit ${commit.slice(0, 12)})`;
}
