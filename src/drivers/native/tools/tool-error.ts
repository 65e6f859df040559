/** A call that cannot be done, with a message for the model. */
export class ToolError extends Error {
  override readonly name = "ToolError";
}
