/** The text of a skill for an agent: read on demand, with placeholders filled in and a list of the files beside it. */
import { createHash } from "node:crypto";
import { type Dirent, readdirSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { AegisError } from "@aegis/contract/errors.ts";
import { errorText } from "@aegis/lib/log.ts";
import { splitPage } from "@aegis/lib/page-header.ts";
import { splitWords } from "@aegis/lib/split-words.ts";
import { maxPageBytes, readPage } from "./read-page.ts";
import type { SkillOutline } from "./skill.ts";

export type SkillBody = {
  text: string;
  folder: string | null;
  resources: string[];
  /** The number of files that are not listed. */
  leftOut: number;
  /** A hash of the page. */
  version: string;
};

export type BodyContext = {
  /** The text after the name when a person or an agent called it; null if it was not called by name. */
  arguments: string | null;
  session: string;
  /** The project's folder. */
  project: string;
};

const mostResources = 100;
const resourceDepth = 3;

/** Throws `unavailable` if the page can no longer be read. */
export function readBody(skill: SkillOutline, context: BodyContext): SkillBody {
  const page = readText(skill);
  const folder = skill.folder ?? (skill.file === null ? null : dirname(skill.file));
  const { resources, leftOut } =
    skill.folder === null ? { resources: [], leftOut: 0 } : resourcesOf(skill.folder, skill.file);
  const version = createHash("sha256").update(page).digest("hex").slice(0, 16);
  return { text: fill(page, skill, folder, context), folder, resources, leftOut, version };
}

/** Renders it for an agent. The content is marked as the skill's, regardless of what it claims to be. */
export function renderBody(skill: SkillOutline, body: SkillBody): string {
  const name = skill.name.replace(/["<>&\n]/g, " ");
  const lines = [`<skill name="${name}">`, body.text.trim().replaceAll("</skill>", "<\\/skill>"), "</skill>"];
  if (body.folder !== null) lines.push(`Its folder, from which its paths count: ${body.folder}`);
  if (body.resources.length > 0) {
    const more = body.leftOut > 0 ? ` and ${body.leftOut} more` : "";
    lines.push(`Files there: ${body.resources.join(", ")}${more}`);
  }
  return lines.join("\n");
}

function readText(skill: SkillOutline): string {
  if (skill.text !== null)
    return cutNote(skill.text.slice(0, maxPageBytes), Math.max(0, skill.text.length - maxPageBytes));
  if (skill.file === null) return "";
  try {
    const { text, cut } = readPage(skill.file, maxPageBytes);
    const page = splitPage(text);
    return cutNote(page.kind === "open" ? "" : page.body.trim(), cut);
  } catch (error) {
    throw new AegisError("unavailable", `the skill "${skill.name}" cannot be read: ${errorText(error)}`, {
      cause: error,
    });
  }
}

function cutNote(text: string, cut: number): string {
  return cut === 0 ? text : `${text}\n\n[cut: ${cut} more bytes; read the file for the rest]`;
}

/**
 * Folder placeholders are always filled in; argument placeholders only if there are arguments, because prose often
 * contains `$1`.
 */
function fill(text: string, skill: SkillOutline, folder: string | null, context: BodyContext): string {
  const places: Record<string, string> = {
    "{baseDir}": folder ?? "",
    "${CLAUDE_SKILL_DIR}": folder ?? "",
    "${CLAUDE_PROJECT_DIR}": context.project,
    "${CLAUDE_SESSION_ID}": context.session,
  };
  const placed = text.replace(
    /\{baseDir\}|\$\{CLAUDE_(?:SKILL_DIR|PROJECT_DIR|SESSION_ID)\}/g,
    (place) => places[place] ?? place,
  );
  const given = context.arguments;
  if (given === null) return placed;
  const words = splitWords(given);
  let used = false;
  const filled = placed.replace(
    /\\\$|\$ARGUMENTS(?:\[(\d+)\])?|\$(\d)\b|\$([a-z][\w-]*)/g,
    (place, index, digit, name) => {
      if (place === "\\$") return "$";
      const number = index ?? digit ?? indexOf(skill.argumentNames, name);
      if (number === undefined && !place.startsWith("$ARGUMENTS")) return place;
      const value = number === undefined ? given : words[Number(number)];
      if (value === undefined) return place;
      used = true;
      return value;
    },
  );
  return used || given === "" ? filled : `${filled}\n\nARGUMENTS: ${given}`;
}

function indexOf(names: readonly string[], name: string | undefined): number | undefined {
  const index = name === undefined ? -1 : names.indexOf(name);
  return index === -1 ? undefined : index;
}

/** The files below the folder; links are listed but not followed. */
function resourcesOf(folder: string, page: string | null): { resources: string[]; leftOut: number } {
  const resources: string[] = [];
  let leftOut = 0;
  const visit = (dir: string, depth: number): void => {
    for (const entry of entriesOf(dir)) {
      const path = join(dir, entry.name);
      if (entry.isDirectory()) {
        if (depth < resourceDepth) visit(path, depth + 1);
      } else if (path !== page && resources.length < mostResources) resources.push(relative(folder, path));
      else if (path !== page) leftOut += 1;
    }
  };
  visit(folder, 0);
  return { resources, leftOut };
}

function entriesOf(dir: string): Dirent[] {
  try {
    return readdirSync(dir, { withFileTypes: true })
      .filter(({ name }) => !name.startsWith(".") && basename(name) !== "node_modules")
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  } catch {
    return [];
  }
}
