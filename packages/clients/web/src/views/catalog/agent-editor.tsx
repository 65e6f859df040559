/** Edits the Markdown of an agent. Each change is checked while the person types, and saved only on request. */

import type { AgentDiagnostic, AgentSourceText } from "@aegis/contract/agent.ts";
import { isAegisError } from "@aegis/contract/errors.ts";
import { useEffect, useRef, useState } from "preact/hooks";
import { problemText, useAction } from "../../app/busy.ts";
import { client } from "../../app/client.ts";
import { failedToLoad } from "../../app/resource.ts";
import { link } from "../../app/router.ts";
import { oneLine, visible } from "../../model/format.ts";
import { shownFile } from "../../parts/diagnostics.tsx";
import { Empty, Problem } from "../../parts/facts.tsx";
import { Page } from "../../parts/page.tsx";

const pauseMs = 250;

/** The file as it was read; `digest` is null for an agent without one. */
type Opened = Omit<AgentSourceText, "digest"> & { digest: string | null };

export function AgentEditor({ name }: { name: string }) {
  const [opened, setOpened] = useState<Opened | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const [saved, setSaved] = useState<string | null>(null);
  const load = () =>
    client.call("getAgentSource", { path: { agent: name } }).then(
      ({ source }) => setOpened(source),
      (error: unknown) => {
        if (isAegisError(error) && error.code === "not_found") setOpened(newAgent(name));
        else setProblem(failedToLoad(error));
      },
    );
  useEffect(() => void load(), []);
  if (opened === null) return problem === null ? <Empty>Loading…</Empty> : <Problem text={problem} />;
  const keep = (source: AgentSourceText) => {
    setOpened(source);
    setSaved(source.digest);
  };
  const isSaved = saved !== null && saved === opened.digest;
  // A text that was loaded or saved replaces what is in the field.
  return <Editor key={opened.digest} name={name} opened={opened} isSaved={isSaved} keep={keep} reload={load} />;
}

function newAgent(name: string): Opened {
  const text = `---\nname: ${name}\ndescription: \npermission: read\n---\n\nYou are …\n`;
  return { file: `.aegis/agents/${name}.md (new)`, text, digest: null, locked: null };
}

function Editor(props: {
  name: string;
  opened: Opened;
  isSaved: boolean;
  keep: (source: AgentSourceText) => void;
  reload: () => void;
}) {
  const { name, opened } = props;
  const [text, setText] = useState(opened.text);
  const action = useAction();
  const box = useRef<HTMLTextAreaElement>(null);
  const found = useCheck(name, text);
  const isChanged = text !== opened.text || opened.digest === null;
  useEffect(() => {
    if (!isChanged) return;
    const warn = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener("beforeunload", warn);
    return () => removeEventListener("beforeunload", warn);
  }, [isChanged]);
  const save = () =>
    void action.run(async () => {
      // A copy of a file that is not the user's becomes a file of the project.
      const digest = opened.locked === null ? opened.digest : null;
      const { source } = await client.call("saveAgentSource", { path: { agent: name }, body: { text, digest } });
      props.keep(source);
    });
  const goTo = (line: number) => {
    const area = box.current;
    if (area === null) return;
    const lines = text.split("\n");
    const from = lines.slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
    area.focus();
    area.setSelectionRange(from, from + (lines[line - 1]?.length ?? 0));
  };
  return (
    <Page
      title={visible(name)}
      tools={
        <>
          <a href={link("catalog", "agents")}>All agents</a>
          <button type="button" onClick={props.reload}>
            Load again
          </button>
          <button type="button" class="primary" disabled={action.busy.value || !isChanged} onClick={save}>
            {opened.locked === null ? "Save" : "Save as your own"}
          </button>
        </>
      }
    >
      <p class="dim">
        {shownFile(opened.file)}
        {opened.locked === null ? "" : `: ${visible(opened.locked)}`}
      </p>
      <Problem text={action.problem.value} />
      {props.isSaved && !isChanged ? <p role="status">Saved. New sessions use it.</p> : null}
      <div class="editor">
        <textarea
          ref={box}
          aria-label={`Markdown of ${name}`}
          class="mono"
          spellcheck={false}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key.toLowerCase() !== "s" || !(event.ctrlKey || event.metaKey)) return;
            event.preventDefault();
            if (isChanged) save();
          }}
        />
        <section aria-label="Check" aria-live="polite" class="check">
          {found === null ? <p class="dim">Checking…</p> : <Check found={found} goTo={goTo} />}
        </section>
      </div>
    </Page>
  );
}

function Check({ found, goTo }: { found: readonly AgentDiagnostic[]; goTo: (line: number) => void }) {
  if (found.length === 0) return <p class="ok">✓ No problem found.</p>;
  return (
    <ul>
      {found.map(({ level, line, message }, index) => (
        <li key={index} class={level === "error" ? "err" : "warn"}>
          {line === null ? (
            <b>{level}</b>
          ) : (
            <button type="button" class="plain" onClick={() => goTo(line)}>
              {level}, line {line}
            </button>
          )}{" "}
          {oneLine(message, 300)}
        </li>
      ))}
    </ul>
  );
}

/** The problems of the text, after the person has stopped typing; null before the first answer. */
function useCheck(name: string, text: string): readonly AgentDiagnostic[] | null {
  const [found, setFound] = useState<readonly AgentDiagnostic[] | null>(null);
  useEffect(() => {
    let gone = false;
    const failed = (error: unknown): AgentDiagnostic[] => [
      { level: "error", agent: name, plugin: null, file: null, line: null, message: problemText(error) },
    ];
    const timer = setTimeout(async () => {
      const answer = await client
        .call("checkAgentSource", { path: { agent: name }, body: { text } })
        .then(({ diagnostics }) => diagnostics, failed);
      if (!gone) setFound(answer);
    }, pauseMs);
    return () => {
      gone = true;
      clearTimeout(timer);
    };
  }, [text]);
  return found;
}
