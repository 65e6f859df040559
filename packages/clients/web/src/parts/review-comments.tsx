/** Comments of a review: shown, written and removed. */
import { useEffect, useRef, useState } from "preact/hooks";
import { visible } from "../model/format.ts";
import type { Comment } from "../model/review.ts";

export function Comments(props: {
  comments: readonly Comment[];
  remove: (comment: Comment) => void;
  withPlace?: boolean;
}) {
  if (props.comments.length === 0) return null;
  return (
    <ul class="comments">
      {props.comments.map((comment) => (
        <li key={comment.id} class={comment.sent === null ? "" : "sent"}>
          <header class="dim">
            {props.withPlace === true ? <span class="mono cut">{visible(comment.code)}</span> : null}
            <span class={`badge ${comment.sent === null ? "" : "quiet"}`}>
              {comment.sent === null ? "draft" : "sent"}
            </span>
            <button
              type="button"
              class="plain"
              aria-label={`Remove the comment on line ${comment.line}`}
              onClick={() => props.remove(comment)}
            >
              Remove
            </button>
          </header>
          <p class="plain-text">{visible(comment.body)}</p>
        </li>
      ))}
    </ul>
  );
}

export function CommentEditor(props: { label: string; save: (body: string) => void; cancel: () => void }) {
  const [body, setBody] = useState("");
  const box = useRef<HTMLTextAreaElement>(null);
  useEffect(() => box.current?.focus(), []);
  const save = () => {
    if (body.trim() !== "") props.save(body);
  };
  return (
    <form
      class="comment-editor"
      onSubmit={(event) => {
        event.preventDefault();
        save();
      }}
    >
      <textarea
        ref={box}
        rows={3}
        aria-label={props.label}
        placeholder="What should change here?"
        value={body}
        onInput={(event) => setBody(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") props.cancel();
          if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
            event.preventDefault();
            save();
          }
        }}
      />
      <div class="buttons">
        <button type="submit" class="primary" disabled={body.trim() === ""}>
          Add comment
        </button>
        <button type="button" class="plain" onClick={props.cancel}>
          Cancel
        </button>
        <span class="dim note">Ctrl+Enter adds it</span>
      </div>
    </form>
  );
}
