/**
 * The message of a commit with the work of a session: what a person gave, or the title of the session and the start of
 * the agent's last answer. The trailers name the session and its task.
 */
import { headline } from "@aegis/contract/headline.ts";
import type { TaskId } from "@aegis/contract/ids.ts";
import type { Session } from "@aegis/contract/session.ts";
import { plain } from "@aegis/lib/plain-text.ts";

export type CommitWork = {
  session: Pick<Session, "id" | "handle" | "title">;
  given: string | null;
  answer: string;
  task: TaskId | null;
};

const longestSummary = 800;
const lineWidth = 72;

export function commitMessage({ session, given, answer, task }: CommitWork): string {
  const subject = session.title === "" ? `Work of ${session.handle}` : headline(session);
  const body = given === null ? [subject, summaryOf(answer, subject)] : [plain(given).trim()];
  const trailers = [`Aegis-Session: ${session.id}`, ...(task === null ? [] : [`Aegis-Task: ${task}`])];
  return `${[...body, trailers.join("\n")].filter((part) => part !== "").join("\n\n")}\n`;
}

/** The first paragraphs, without code blocks. Empty if the answer only repeats the subject. */
function summaryOf(answer: string, subject: string): string {
  const paragraphs = plain(answer)
    .replace(/^(```|~~~)[\s\S]*?(^\1|$(?![\s\S]))/gm, "")
    .split(/\n\s*\n/)
    .map((part) => part.trim())
    .filter((part) => part !== "" && part !== subject);
  const kept: string[] = [];
  let length = 0;
  for (const part of paragraphs) {
    if (length > 0 && length + part.length > longestSummary) break;
    kept.push(wrapped(part.length > longestSummary ? `${part.slice(0, longestSummary - 1).toWellFormed()}…` : part));
    length += part.length;
  }
  return kept.join("\n\n");
}

/** Lines of a list stay lines. */
function wrapped(paragraph: string): string {
  return paragraph
    .split("\n")
    .flatMap((line) => {
      const lines: string[] = [];
      let current = "";
      for (const word of line.trim().split(/\s+/)) {
        if (current !== "" && current.length + 1 + word.length > lineWidth) {
          lines.push(current);
          current = word;
        } else current = current === "" ? word : `${current} ${word}`;
      }
      return [...lines, current];
    })
    .join("\n");
}
