/** One changed file of a review: its facts and its lines, which are loaded when the file is opened. */

import type { ChangedFile, Changes } from "@aegis/contract/changes.ts";
import { newId } from "@aegis/contract/ids.ts";
import { useEffect, useMemo, useState } from "preact/hooks";
import { client } from "../app/client.ts";
import { useResource } from "../app/resource.ts";
import { changeReview, reviewOf } from "../app/review.ts";
import { type CodeLine, type DiffLine, diffOfGit } from "../model/diff-lines.ts";
import { piecesByLine, sidesOf } from "../model/diff-rows.ts";
import { visible } from "../model/format.ts";
import { type Anchor, type Comment, isGenerated, placed } from "../model/review.ts";
import type { Piece } from "../model/syntax.ts";
import { Problem } from "./facts.tsx";
import { Comments } from "./review-comments.tsx";
import { type LineColours, ReviewLines } from "./review-lines.tsx";

type FileProps = { changes: Changes; file: ChangedFile; turn: string | undefined; split: boolean };

const manyLines = 3_000;
const never = () => false;

export function ReviewFile({ changes, file, turn, split }: FileProps) {
  const [asked, setAsked] = useState(false);
  const reason = asked ? null : closedReason(file);
  return (
    <>
      {file.binary || file.submodule ? (
        <p class="empty">
          {file.binary ? "A binary file has no lines to show." : "A submodule now points to another commit."}
        </p>
      ) : reason === null ? (
        <FileLines changes={changes} file={file} turn={turn} split={split} />
      ) : (
        <p class="empty">
          {reason}{" "}
          <button type="button" onClick={() => setAsked(true)}>
            Show the diff
          </button>
        </p>
      )}
    </>
  );
}

function FileLines({ changes, file, turn, split }: FileProps) {
  const { session } = changes;
  const [writing, setWriting] = useState<string | null>(null);
  const { data, problem } = useResource(
    async () => {
      const query = { file: file.path, ...(turn === undefined ? {} : { turn }) };
      return (await client.call("getChanges", { path: { session }, query })).changes;
    },
    never,
    [session, turn, file.path, changes.after],
  );
  const patch = data?.patch ?? "";
  const lines = useMemo(() => diffOfGit(patch).lines, [patch]);
  const colours = useColours(lines, file.path);
  const review = reviewOf(session).value;
  const { at, outdated } = useMemo(
    () =>
      placed(
        review.comments.filter(({ path }) => path === file.path),
        lines,
      ),
    [review, lines, file.path],
  );
  const save = (anchor: Anchor, body: string) => {
    const comment: Comment = { ...anchor, id: newId("msg", Date.now()), path: file.path, body, sent: null };
    changeReview(session, (before) => ({ ...before, comments: [...before.comments, comment] }));
    setWriting(null);
  };
  const remove = ({ id }: Comment) =>
    changeReview(session, (before) => ({ ...before, comments: before.comments.filter((one) => one.id !== id) }));

  if (data === null) return problem === null ? <p class="empty">Loading…</p> : <Problem text={problem} />;
  return (
    <>
      <Problem text={problem} />
      {outdated.length === 0 ? null : (
        <section class="outdated" aria-label="Comments on lines that have changed">
          <p class="dim note">These comments are on lines that have changed since:</p>
          <Comments comments={outdated} remove={remove} withPlace />
        </section>
      )}
      {data.truncated.includes(file.path) ? (
        <p class="warn note">
          {lines.length === 0 ? "The file is too large to show its diff." : "This is the first megabyte of the diff."}
        </p>
      ) : null}
      {lines.length === 0 ? (
        <p class="empty">No line differs.</p>
      ) : (
        <ReviewLines
          lines={lines}
          split={split}
          colours={colours}
          writing={writing}
          setWriting={setWriting}
          save={save}
          remove={remove}
          comments={at}
          label={`Changes of ${file.path}`}
        />
      )}
    </>
  );
}

function closedReason(file: ChangedFile): string | null {
  if (file.added + file.deleted > manyLines) return `${file.added + file.deleted} lines have changed.`;
  return isGenerated(file.path) ? "This file looks generated." : null;
}

const statusWords: Readonly<Record<ChangedFile["status"], string>> = {
  added: "added",
  modified: "modified",
  deleted: "deleted",
  renamed: "renamed",
  type_changed: "type changed",
};

/** What the lines do not show. */
export function factsOf(file: ChangedFile): string[] {
  const isOldMode = file.status !== "added" && file.status !== "deleted" && file.old_mode !== file.new_mode;
  return [
    file.from === null ? statusWords[file.status] : `renamed from ${visible(file.from)}`,
    isOldMode ? `mode ${file.old_mode} → ${file.new_mode}${file.new_mode === "100755" ? " (executable)" : ""}` : "",
    file.status === "added" && file.new_mode === "100755" ? "executable" : "",
    file.new_mode === "120000" ? "symbolic link" : "",
    file.binary ? "binary" : "",
    file.attribution === "shared" ? `possibly changed by ${file.sessions.map(visible).join(" or ")}` : "",
    file.outside ? "also changed between turns" : "",
  ].filter((fact) => fact !== "");
}

const mostColoured = 6_000;

/** Colours the old and the new side of each hunk in the worker. */
function useColours(lines: readonly DiffLine[], path: string): LineColours {
  const [colours, setColours] = useState<LineColours>(new Map());
  const language = /\.([\w+]+)$/.exec(path)?.[1]?.toLowerCase() ?? "";
  useEffect(() => {
    setColours(new Map());
    if (language === "" || lines.length > mostColoured) return;
    let gone = false;
    const found = new Map<CodeLine, readonly Piece[]>();
    const paint = async (hunk: readonly CodeLine[]) => {
      const { colour } = await import("../app/colour.ts");
      const pieces = await colour(hunk.map(({ text }) => text).join("\n"), language);
      if (pieces === null) return;
      for (const [index, line] of piecesByLine(pieces).entries()) {
        const target = hunk[index];
        if (target !== undefined) found.set(target, line);
      }
    };
    void Promise.all([...sidesOf(lines, "before"), ...sidesOf(lines, "after")].map(paint)).then(
      () => gone || setColours(new Map(found)),
    );
    return () => {
      gone = true;
    };
  }, [lines, language]);
  return colours;
}
