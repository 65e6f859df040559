/** What a person is shown before they agree. */
import { exists } from "../../../lib/files.ts";
import { capabilitiesOf, capabilityLines, compareCapabilities } from "./capabilities.ts";
import type { LockEntry } from "./lockfile.ts";
import type { Person } from "./script.ts";
import type { Source, SourceDeps } from "./sources.ts";
import { manifestOf, type Staged } from "./staging.ts";
import { changeLines, compareFiles, diffLines, fileHashes } from "./tree-changes.ts";

export type ToTell = { name: string; staged: Staged; source: Source; person: Person };

/** What a new plugin would run. */
export async function tellInstall({ name, staged, source, person }: ToTell): Promise<void> {
  const { manifest, dir, warnings } = staged;
  person.print(`${name} ${manifest.version} from ${source.text}${atCommit(staged)}`);
  if (manifest.description !== "") person.print(`  ${manifest.description}`);
  const lines = capabilityLines(await capabilitiesOf(dir, manifest));
  for (const line of lines.length === 0 ? ["nothing that runs"] : lines) person.print(`  ${line}`);
  for (const { message } of warnings) person.warn(`  ${message}`);
}

/** How another version differs from the one that is here: its files, what it may do, and its code. */
export async function tellUpdate(
  { name, staged, source, person }: ToTell,
  here: { dir: string; entry: LockEntry },
  deps: SourceDeps,
): Promise<void> {
  const { manifest } = staged;
  person.print(`${name} ${here.entry.version} → ${manifest.version} from ${source.text}${atCommit(staged)}`);
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
  if (!there) return;
  const diff = await diffLines(here.dir, staged.dir, { ...deps, cwd: here.dir });
  for (const line of diff ?? ["(install git to see the lines that differ)"]) person.print(line);
}

function atCommit({ commit }: Staged): string {
  return commit === null ? "" : ` (commit ${commit.slice(0, 12)})`;
}
