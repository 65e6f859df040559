/** Reads the commands, texts and file names in the input of a tool, whichever form the tool gives them. */
import type { ToolKind } from "@aegis/contract/turn.ts";

/** The texts that a shell or an interpreter receives. Of a tool that does more, only what is a command by its name. */
export function commandsOf(input: unknown, kind: ToolKind): string[] {
  const found: string[] = [];
  const visit = (value: unknown, isCode: boolean): void => {
    if (typeof value === "string") {
      if (isCode) found.push(value);
    } else if (Array.isArray(value)) {
      if (isCode && value.every((one) => typeof one === "string")) found.push(value.join(" "));
      else for (const one of value) visit(one, isCode);
    } else if (typeof value === "object" && value !== null)
      for (const [key, one] of Object.entries(value))
        if (kind !== "execute") visit(one, isCode || commandKeys.test(key));
        else if (!contentKeys.test(key) || codeKeys.test(key)) visit(one, true);
  };
  visit(input, kind === "execute");
  return found;
}

const commandKeys = /^(?:commands?|cmd|script|shell|code|args|argv|arguments)$/i;

/** The values of these keys are executed here, but are content in other tools. */
const codeKeys = /^(?:input|data|text|content|body)$/i;

/** The strings of an input as texts, and those that can be file names. */
export function partsOf(input: unknown, kind: ToolKind): { texts: string[]; files: string[] } {
  const texts: string[] = [];
  const files: string[] = [];
  const visit = (value: unknown, key: string): void => {
    if (typeof value === "string") {
      texts.push(value);
      // A long path, or one with a line break, can name a guarded file once `..` and `.` are resolved.
      if (kind === "other" || !contentKeys.test(key)) files.push(value);
    } else if (Array.isArray(value)) for (const one of value) visit(one, key);
    else if (typeof value === "object" && value !== null)
      for (const [name, one] of Object.entries(value)) {
        // A map of changes by path.
        if (/[/.]/.test(name)) files.push(name);
        visit(one, name);
      }
  };
  visit(input, "");
  return { texts, files };
}

/** The files that a patch in a text changes, in the notation of agents, of diff and of git. */
export function patchedFiles(text: string): string[] {
  return [...text.matchAll(patchMarks)].flatMap(([, rest = ""]) => {
    const [path = ""] = rest.split("\t");
    // One line of git names both files.
    const names = [path, ...path.split(/\s(?="?[ab]\/)/)].map((name) => name.trim().replace(/^"|"$/g, ""));
    return names.flatMap((name) => [name, name.replace(/^[ab]\//, "")]);
  });
}

const patchMarks =
  /^[ \t]*(?:\*\*\* (?:Add|Update|Delete) File: |\*\*\* Move to: |(?:---|\+\+\+) |diff --git |(?:rename|copy) (?:from|to) )(.+)$/gm;

/** The values of these keys are file content, not file names. In an unknown tool they can be both. */
const contentKeys =
  /^(?:content|contents|text|body|data|message|prompt|description|title|reason|explanation|diff|before|after|input|old_?(?:text|str|string)|new_?(?:text|str|string|source)|file_?text|insert_?text|pattern|query|replacement)$/i;
