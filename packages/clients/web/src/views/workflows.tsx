/** Workflows and their runs. One run is a timeline of its steps. */

import type { Run, Step, WorkflowView } from "@aegis/contract/run.ts";
import { useState } from "preact/hooks";
import { useAction } from "../app/busy.ts";
import { client } from "../app/client.ts";
import { typeBegins, useResource } from "../app/resource.ts";
import { go, link } from "../app/router.ts";
import { board, now } from "../app/store.ts";
import { defaultText, fieldOf, type Parameter, textArguments, typeText } from "../model/fields.ts";
import { duration, money, oneLine, plural, visible, when } from "../model/format.ts";
import { barsOf, forksOf, isCheckpoint } from "../model/steps.ts";
import { AskForm } from "../parts/ask-form.tsx";
import { Empty, Problem } from "../parts/facts.tsx";
import { ActionButton, Page, StatusWord, Table } from "../parts/page.tsx";
import { Receipts } from "../parts/receipt.tsx";

export function WorkflowsPage({ rest: [run] }: { rest: readonly string[] }) {
  return run === undefined ? <Overview /> : <RunPage key={run} id={run} />;
}

const loadOverview = async () => {
  const [{ workflows }, { runs }] = await Promise.all([client.call("listWorkflows"), client.call("listRuns")]);
  return { workflows, runs };
};

function Overview() {
  const { data, problem } = useResource(loadOverview, typeBegins("run.started", "run.ended", "run.parked", "plugin."));
  const [starting, setStarting] = useState<string | null>(null);
  if (data === null) return problem === null ? <Empty>Loading…</Empty> : <Problem text={problem} />;
  const chosen = data.workflows.find(({ name }) => name === starting);
  return (
    <Page title="Workflows">
      <Problem text={problem} />
      <Table
        label="Workflows"
        rows={data.workflows}
        keyOf={(one) => one.name}
        empty="There are no workflows."
        columns={[
          { name: "Workflow", cell: (one) => <b>{visible(one.name)}</b> },
          { name: "What it does", wide: true, cell: (one) => oneLine(one.description, 160) },
          { name: "From", cell: (one) => <span class="dim">{visible(one.source)}</span> },
          {
            name: "",
            cell: (one) => (
              <button
                type="button"
                aria-expanded={starting === one.name}
                onClick={() => setStarting(starting === one.name ? null : one.name)}
              >
                Start
              </button>
            ),
          },
        ]}
      />
      {chosen === undefined ? null : <StartForm key={chosen.name} workflow={chosen} />}
      <h2>Runs</h2>
      <Table
        label="Runs"
        rows={data.runs}
        keyOf={(run) => run.id}
        empty="There are no runs yet."
        columns={[
          { name: "Status", cell: (run) => <StatusWord status={run.status} /> },
          {
            name: "Run",
            cell: (run) => <a href={link("workflows", run.id)}>{visible(run.workflow)}</a>,
          },
          { name: "Phase", cell: (run) => visible(run.phase ?? "") },
          { name: "Started", cell: (run) => when(run.created_at, now()) },
          { name: "Took", number: true, cell: (run) => duration((run.ended_at ?? now()) - run.created_at) },
          {
            name: "Outcome",
            wide: true,
            cell: (run) => <span class={run.error === null ? "" : "err"}>{outcome(run)}</span>,
          },
        ]}
      />
    </Page>
  );
}

function times(count: number): string {
  return count === 1 ? "once" : `${count} times`;
}

function outcome(run: Run): string {
  if (run.error !== null) return oneLine(`${run.error.name}: ${run.error.message}`, 160);
  if (run.result === null || run.result === undefined) return "";
  return oneLine(typeof run.result === "string" ? run.result : JSON.stringify(run.result), 160);
}

/** A form with one field for each parameter. The daemon converts the texts by the workflow's schema. */
function StartForm({ workflow }: { workflow: WorkflowView }) {
  const action = useAction();
  const [values, setValues] = useState<Readonly<Record<string, string>>>({});
  const start = () =>
    action.run(async () => {
      const text_args = textArguments(workflow.parameters, values);
      const { run } = await client.call("startRun", { path: { workflow: workflow.name }, body: { text_args } });
      go("workflows", run.id);
    });
  return (
    <form
      class="fields"
      aria-label={`Start ${workflow.name}`}
      onSubmit={(event) => {
        event.preventDefault();
        void start();
      }}
    >
      {workflow.parameters.map((one) => (
        <label key={one.name} htmlFor={`argument-${one.name}`}>
          <span>
            {visible(one.name)} <span class="dim">{typeText(one)}</span>
            {one.required ? <span class="warn"> required</span> : null}
          </span>
          <ParameterField
            parameter={one}
            value={values[one.name] ?? ""}
            write={(value) => setValues({ ...values, [one.name]: value })}
          />
          {one.description === "" ? null : <small class="dim">{oneLine(one.description, 160)}</small>}
        </label>
      ))}
      <div class="buttons">
        <button type="submit" class="primary" disabled={action.busy.value}>
          Start {visible(workflow.name)}
        </button>
      </div>
      <Problem text={action.problem.value} />
    </form>
  );
}

function ParameterField(props: { parameter: Parameter; value: string; write: (value: string) => void }) {
  const { parameter, value, write } = props;
  const field = fieldOf(parameter);
  const placeholder = defaultText(parameter);
  const same = { id: `argument-${parameter.name}`, required: parameter.required, value };
  if (field.kind === "choice")
    return (
      <select {...same} onChange={(event) => write(event.currentTarget.value)}>
        <option value="">{placeholder === "" ? "choose" : `default: ${placeholder}`}</option>
        {field.options.map((option) => (
          <option key={option}>{option}</option>
        ))}
      </select>
    );
  if (field.kind === "lines")
    return (
      <textarea rows={3} {...same} placeholder={placeholder} onInput={(event) => write(event.currentTarget.value)} />
    );
  return (
    <input
      inputMode={field.kind === "number" ? "decimal" : "text"}
      {...same}
      placeholder={placeholder}
      onInput={(event) => write(event.currentTarget.value)}
    />
  );
}

function RunPage({ id }: { id: string }) {
  const load = async () => {
    const path = { run: id };
    const [{ run }, { steps }, { events }] = await Promise.all([
      client.call("getRun", { path }),
      client.call("listSteps", { path, query: { limit: 500 } }),
      client.call("runEvents", { path, query: { limit: 1000 } }),
    ]);
    return { run, steps, events };
  };
  const { data, problem } = useResource(load, typeBegins("run.", "ask.", "receipt.", "changes."));
  if (data === null) return problem === null ? <Empty>Loading…</Empty> : <Problem text={problem} />;
  const { run, steps, events } = data;
  const path = { run: run.id };
  const isOpen = run.status === "running" || run.status === "parked";
  const asks = board.value.asks.filter((ask) => run.asks.includes(ask.id));
  const lines = events.flatMap((event) =>
    event.type === "run.log" || event.type === "run.output" ? [`${event.data.text.replace(/\n$/, "")}`] : [],
  );
  const { bars, folds } = barsOf(run, steps, now());
  return (
    <Page
      title={visible(run.workflow)}
      tools={
        <>
          {isOpen ? (
            <ActionButton label="Cancel" kind="danger" work={() => client.call("cancelRun", { path, body: {} })} />
          ) : null}
          {run.status === "running" || run.status === "ok" ? null : (
            <ActionButton label="Resume" work={() => client.call("resumeRun", { path, body: {} })} />
          )}
          <ForkRun run={run} steps={steps} />
        </>
      }
    >
      <Problem text={problem} />
      <p class="dim">
        <StatusWord status={run.status} /> · started {when(run.created_at, now())} ·{" "}
        {duration((run.ended_at ?? now()) - run.created_at)} · {plural(run.steps_done, "step")}
        {run.cost === null ? "" : ` · ${money(run.cost)}`}
        {run.resumes > 0 ? ` · resumed ${times(run.resumes)}` : ""}
        {run.retries > 0 ? ` · retried ${times(run.retries)}` : ""}
        {run.forked_from === null ? null : (
          <>
            {" · fork of "}
            <a href={link("workflows", run.forked_from)}>another run</a>
          </>
        )}
      </p>
      {Object.keys(run.args).length === 0 ? null : (
        <p class="dim">
          Arguments: <code>{oneLine(JSON.stringify(run.args), 400)}</code>
        </p>
      )}
      {outcome(run) === "" ? null : <p class={run.error === null ? "" : "err"}>{outcome(run)}</p>}
      {asks.map((ask) => (
        <AskForm key={ask.id} ask={ask} />
      ))}
      <ol class="timeline" aria-label="Steps">
        {bars.map(({ step, left, width, ms }, index) => (
          <li key={index} class={isCheckpoint(step) ? "checkpoint" : ""}>
            <span class="cut" title={visible(step.label)}>
              {isCheckpoint(step) ? "◇ " : ""}
              {oneLine(step.label || step.method, 120)}
            </span>
            <span class="track">
              {folds.map((fold) => (
                <i key={fold.left} class="fold-mark" style={{ left: `${fold.left}%` }} />
              ))}
              <i class={`step-bar ${step.status}`} style={{ left: `${left}%`, width: `${width}%` }} />
            </span>
            <span class="dim right">{duration(ms)}</span>
            {step.error === null ? null : <p class="err">{oneLine(step.error, 200)}</p>}
          </li>
        ))}
      </ol>
      {folds.length === 0 ? null : (
        <p class="dim">
          Times in which no step ran are folded at the dashed lines: {folds.map(({ ms }) => duration(ms)).join(", ")}.
        </p>
      )}
      <Receipts receipts={run.receipts} />
      {run.agents.length === 0 ? null : (
        <p>
          Sessions:{" "}
          {run.agents.map((one) => (
            <a key={one.session} class="spaced" href={link("s", one.session)}>
              {visible(one.handle)}
            </a>
          ))}
        </p>
      )}
      {lines.length === 0 ? null : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
        <pre class="code" tabIndex={0}>
          {visible(lines.join("\n"))}
        </pre>
      )}
    </Page>
  );
}

/** Starts a new run that continues after a checkpoint of this one. */
function ForkRun({ run, steps }: { run: Run; steps: readonly Step[] }) {
  const places = forksOf(run, steps);
  const [chosen, setKept] = useState<number | null>(null);
  const kept = chosen ?? run.parked?.checkpoints ?? run.epoch;
  return (
    <>
      <select aria-label="Fork from" value={kept} onChange={(event) => setKept(Number(event.currentTarget.value))}>
        {places.map((place) => (
          <option key={place.kept} value={place.kept}>
            {place.after === null ? "from the start" : `after ${oneLine(place.after, 40)}`}
          </option>
        ))}
      </select>
      <ActionButton
        label="Fork"
        work={async () => {
          const answer = await client.call("forkRun", { path: { run: run.id }, body: { checkpoint: kept } });
          go("workflows", answer.run.id);
        }}
      />
    </>
  );
}
