import { memoryApp } from "@aegis/test/helpers/memory-terminal.ts";
import { sampleModel, sampleSessions } from "@aegis/test/helpers/sample-team.ts";
import { expect, it } from "vitest";
import { UndoSteps } from "../src/undo.ts";

const undo = "\u001f";

it("undoes words and pastes, and remembers a bounded number of steps", () => {
  const { app } = memoryApp(sampleModel());
  app.openSession(sampleSessions.lucid);
  const type = (text: string) => {
    for (const key of text) app.handleInput(key);
  };
  type("one two");
  app.handleInput(`\u001b[200~${"a line\n".repeat(20)}\u001b[201~`);
  expect(app.editor.getExpandedText()).toContain("a line\na line");
  app.handleInput(undo);
  expect(app.editor.getText()).toBe("one two");
  app.handleInput(undo);
  expect(app.editor.getText()).toBe("one");
  type(" word".repeat(400));
  const steps = Reflect.get(app.editor, "undoStack");
  expect(steps).toBeInstanceOf(UndoSteps);
  expect((steps as UndoSteps).length).toBeLessThanOrEqual(100);
});
