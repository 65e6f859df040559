/** A field that starts a session. */
import { useState } from "preact/hooks";
import { useAction } from "../app/busy.ts";
import { client } from "../app/client.ts";
import { go } from "../app/router.ts";
import { Problem } from "./facts.tsx";

/** Starts a session with a first message. Without `agent` it is a session of the default agent, which has this name. */
export function NewSession({ name, agent }: { name: string; agent?: string }) {
  const action = useAction();
  const [text, setText] = useState("");
  const submit = async () => {
    const worked = await action.run(async () => {
      const { session } = await client.call("createSession", {
        body: { prompt: text, ...(agent === undefined ? {} : { agent }) },
      });
      go("s", session.id);
    });
    if (worked) setText("");
  };
  return (
    <form
      class="new"
      onSubmit={(event) => {
        event.preventDefault();
        if (text.trim() !== "") void submit();
      }}
    >
      <input
        aria-label="Start a session with this message"
        placeholder={`Ask ${name === "" ? "an agent" : name} to do something`}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      <button type="submit" class="primary" disabled={action.busy.value || text.trim() === ""}>
        Start
      </button>
      <Problem text={action.problem.value} />
    </form>
  );
}
