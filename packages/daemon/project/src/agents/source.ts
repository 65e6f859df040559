/** Reads, checks and replaces the text of an agent's file for an editor. */
import { join } from "node:path";
import { compareCandidates } from "@aegis/agents/agent-order.ts";
import { agentSlug } from "@aegis/agents/slug.ts";
import { type AgentDiagnostic, type AgentSourceText, slugMaxLength } from "@aegis/contract/agent.ts";
import { AegisError } from "@aegis/contract/errors.ts";
import { containedPath, isInside } from "@aegis/lib/files.ts";
import { didYouMean } from "@aegis/lib/nearest.ts";
import { textDigest } from "@aegis/lib/text-digest.ts";
import { decodeText } from "../config/decode.ts";
import { diskFiles } from "../config/files.ts";
import { type AgentProject, checkAgentText, placeOf, replaceAgentFile } from "./edit.ts";
import { AgentFiles } from "./files.ts";
import { type AgentPlace, agentPlaces } from "./places.ts";

type FoundFile = { file: string; place: AgentPlace };

/** Throws `not_found` for an agent without a file. A file that cannot be used as an agent is found too. */
export async function readAgentSource(project: AgentProject, name: string): Promise<AgentSourceText> {
  const found = await findFile(project, name);
  const text = await readText(found);
  return { file: found.file, text, digest: textDigest(text), locked: lockedReason(found, name) };
}

/** Everything that is wrong with a text, before it is saved. */
export async function checkAgentSource(project: AgentProject, name: string, text: string) {
  const { file, place } = (await findFile(project, name).catch(() => null)) ?? ownFile(project, name);
  return checkAgentText(project, text, { file, source: place.source });
}

/**
 * Replaces the file if it still has the given digest. Null creates a file of the project. Throws `conflict` if the file
 * has changed, and `invalid` if the agent would be invalid or would get another name.
 */
export async function saveAgentSource(
  project: AgentProject,
  name: string,
  { text, digest }: { text: string; digest: string | null },
): Promise<{ source: AgentSourceText; diagnostics: AgentDiagnostic[] }> {
  const found = digest === null ? ownFile(project, name) : await findFile(project, name);
  const { file, place } = found;
  const locked = lockedReason(found, name);
  if (locked !== null) throw new AegisError("conflict", locked);
  const { profile } = checkAgentText(project, text, { file, source: place.source });
  if (profile !== null && profile.slug !== name)
    throw new AegisError("invalid", `name: expected ${name}, found ${profile.slug}`, {
      hint: "the editor keeps the name of an agent; create another agent for another name",
    });
  const { diagnostics } = await replaceAgentFile(project, place, file, {}, (old) => {
    if (digest === null && old !== null) throw new AegisError("conflict", `${file} exists already`);
    if (digest !== null && (old === null || textDigest(old) !== digest))
      throw new AegisError("conflict", `${file} has changed since you opened it`, {
        hint: "copy your text, load the file again and repeat your change",
      });
    return text;
  });
  return { source: { file, text, digest: textDigest(text), locked: null }, diagnostics };
}

/** The file with the highest precedence for a name, whether or not it can be used. */
async function findFile(project: AgentProject, name: string): Promise<FoundFile> {
  const places = agentPlaces(project.root, project.home);
  const { profiles, diagnostics } = await new AgentFiles().load(places);
  const [first] = profiles.filter((profile) => profile.slug === name).sort(compareCandidates);
  const broken = diagnostics.find((one) => one.agent === name && one.file !== null && one.level === "error");
  const file = first?.file ?? broken?.file ?? null;
  const place = places.find(({ folder }) => file !== null && isInside(folder, file));
  if (file !== null && place !== undefined) return { file, place };
  const names = profiles.map((profile) => profile.slug);
  throw new AegisError("not_found", `no agent file for "${name}"${didYouMean(name, names)}`, {
    hint: "an agent of the configuration is changed in .aegis.yaml, one of a plugin in the plugin",
  });
}

function ownFile(project: AgentProject, name: string): FoundFile {
  if (agentSlug(name) !== name)
    throw new AegisError("invalid", `"${name.slice(0, 80)}" is not a valid agent name`, {
      hint: `expected lower-case letters and digits joined by - or _, at most ${slugMaxLength}`,
    });
  const place = placeOf(project, "project");
  return { file: join(place.folder, `${name}.md`), place };
}

function lockedReason({ file, place }: FoundFile, name: string): string | null {
  if (place.source === "project" || place.source === "user") return null;
  return `${file} is not yours to change; save a copy as your own agent "${name}", which takes precedence`;
}

async function readText({ file, place }: FoundFile): Promise<string> {
  const path = place.within === null ? file : await containedPath(place.within, file);
  if (path === null) throw new AegisError("forbidden", `${file} leads out of ${place.within}`);
  const decoded = decodeText(await diskFiles.read(path));
  if ("text" in decoded) return decoded.text;
  throw new AegisError("invalid", `${file}:${decoded.at.line}: ${decoded.message}`);
}
