/** Writes to a session: many lines, images, slash commands, names of files, and whether a message queues behind the running turn or steers it. */

import type { Card } from "@aegis/client/model/board.ts";
import { newId } from "@aegis/contract/ids.ts";
import { signal } from "@preact/signals";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { useAction } from "../app/busy.ts";
import { client } from "../app/client.ts";
import { oneLine } from "../model/format.ts";
import { Completion, listId, optionId, type Suggestion, type Suggestions, useSuggestions } from "./completion.tsx";
import { Problem } from "./facts.tsx";
import { Icon } from "./icon.tsx";

type Mode = "queue" | "steer" | "interrupt";
type Attached = { name: string; data: string };

const modes: Readonly<Record<Mode, string>> = { queue: "Queue", steer: "Steer", interrupt: "Interrupt" };
const modeTitles: Readonly<Record<Mode, string>> = {
  queue: "wait for the next turn",
  steer: "join the current turn if the harness supports it",
  interrupt: "end the current turn and deliver immediately",
};
const mostImages = 8;

/** What was typed, by session: another view must not lose it. */
const drafts = new Map<string, string>();

export function Composer({ card }: { card: Card }) {
  const action = useAction();
  const text = useMemo(() => signal(drafts.get(card.id) ?? ""), [card.id]);
  const [mode, setMode] = useState<Mode>("queue");
  const [images, setImages] = useState<readonly Attached[]>([]);
  const [said, setSaid] = useState<string | null>(null);
  const box = useRef<HTMLTextAreaElement>(null);
  const working = card.state === "working";
  const [cursor, setCursor] = useState(text.peek().length);
  const suggestions = useSuggestions(card.id, text.value, cursor);
  const chosen = useRef<number | null>(null);
  // The text is in the field only after it was drawn.
  useLayoutEffect(() => {
    if (chosen.current === null) return;
    box.current?.setSelectionRange(chosen.current, chosen.current);
    chosen.current = null;
  });

  const choose = (one: Suggestion) => {
    write(one.text);
    setCursor(one.cursor);
    chosen.current = one.cursor;
    box.current?.focus();
  };
  const write = (value: string) => {
    text.value = value;
    drafts.set(card.id, value);
  };
  const attach = async (files: Iterable<File>) => {
    const added: Attached[] = [];
    for (const file of files) if (file.type.startsWith("image/")) added.push(await read(file));
    setImages((before) => [...before, ...added].slice(0, mostImages));
  };
  const send = () =>
    action.run(async () => {
      setSaid(null);
      const typed = text.peek().trim();
      if (typed === "" && images.length === 0) return;
      const slash = /^\/([\w:-]+)(?:\s+([\s\S]*))?$/.exec(typed);
      let body = typed === "" ? "See the image." : typed;
      if (slash !== null) {
        const outcome = await client.call("runCommand", {
          path: { command: slash[1] ?? "" },
          body: { arguments: slash[2] ?? "", session: card.id },
        });
        if (outcome.text !== null) setSaid(outcome.text);
        if (outcome.prompt === null) return write("");
        body = outcome.prompt;
      }
      await client.call("sendMessage", {
        path: { session: card.id },
        body: { id: newId("msg", Date.now()), text: body, mode: working ? mode : "queue", attachments: [...images] },
      });
      write("");
      setImages([]);
    });

  if (card.state === "closed") return <p class="composer dim">This session is closed.</p>;
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        void attach(event.dataTransfer?.files ?? []);
      }}
    >
      {said === null ? null : <pre class="said">{said}</pre>}
      <Completion suggestions={suggestions} choose={choose} />
      <textarea
        ref={box}
        rows={Math.min(10, Math.max(2, text.value.split("\n").length))}
        aria-label={`Message to ${card.handle}`}
        placeholder={`Message ${card.handle}`}
        value={text}
        aria-autocomplete="list"
        aria-controls={suggestions.list.length === 0 ? undefined : listId}
        aria-activedescendant={
          suggestions.list.length === 0 || suggestions.active < 0 ? undefined : optionId(suggestions.active)
        }
        onInput={(event) => {
          write(event.currentTarget.value);
          setCursor(event.currentTarget.selectionStart);
        }}
        onKeyUp={(event) => setCursor(event.currentTarget.selectionStart)}
        onClick={(event) => setCursor(event.currentTarget.selectionStart)}
        onKeyDown={(event) => {
          if (completes(event, suggestions, choose)) return event.preventDefault();
          if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
          event.preventDefault();
          void send();
        }}
        onPaste={(event) => void attach(event.clipboardData?.files ?? [])}
      />
      <div class="buttons">
        {images.map((image, index) => (
          <span key={index} class="chip">
            <Icon name="image" /> {oneLine(image.name, 24)}
            <button
              type="button"
              class="plain"
              aria-label={`Remove ${image.name}`}
              onClick={() => setImages(images.filter((one) => one !== image))}
            >
              ×
            </button>
          </span>
        ))}
        <span class="hint dim">Enter: send · Shift+Enter: new line · /: command · @: file</span>
        {working ? (
          <>
            <select
              aria-label="How the message is delivered"
              value={mode}
              title={modeTitles[mode]}
              onChange={(event) => setMode(event.currentTarget.value as Mode)}
            >
              {Object.entries(modes).map(([value, label]) => (
                <option key={value} value={value}>
                  {label}
                </option>
              ))}
            </select>
            <button
              type="button"
              onClick={() => void action.run(() => client.call("interruptSession", { path: { session: card.id } }))}
            >
              <Icon name="stop" /> Stop
            </button>
          </>
        ) : null}
        <button type="submit" class="primary" disabled={action.busy.value}>
          <Icon name="send" /> Send
        </button>
      </div>
      <Problem text={action.problem.value} />
    </form>
  );
}

/** Whether the key belongs to the list of suggestions. */
function completes(event: KeyboardEvent, suggestions: Suggestions, choose: (one: Suggestion) => void): boolean {
  const { list, active } = suggestions;
  if (list.length === 0 || event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return false;
  if (event.key === "Escape") suggestions.dismiss();
  else if (event.key === "ArrowDown") suggestions.setActive(active + 1);
  else if (event.key === "ArrowUp") suggestions.setActive(active < 0 ? list.length - 1 : active - 1);
  else {
    const one = list[Math.max(0, active)];
    const isChosen = event.key === "Tab" ? !event.shiftKey : event.key === "Enter" && !event.shiftKey && active >= 0;
    if (!isChosen || one === undefined) return false;
    choose(one);
  }
  return true;
}

async function read(file: File): Promise<Attached> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  let binary = "";
  for (let at = 0; at < bytes.length; at += 8192) binary += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return { name: file.name || "image", data: btoa(binary) };
}
