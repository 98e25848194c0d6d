// Whom the picked token attends to, and the attention matrix: asked for the frame that is shown, one question at a time.

import type { Attention } from "./attention";
import type { MatrixPacket } from "./packets";
import type { Source } from "./source";
import type { Row, View } from "./state";
import type { Store } from "./store";

const NONE = -1;
const UNDER_WAY = -2;

export class Attending {
  token: number | null = null;
  row: Row | null = null;
  onmove: () => void = () => {};
  private row_ = NONE; // the frame of the row that is there
  private matrix_ = NONE;

  constructor(
    private card: Attention,
    private source: Source,
    private store: Store,
    private view: View,
  ) {}

  pick(token: number | null): void {
    this.token = this.view.token = token;
    this.row = null;
    this.row_ = NONE;
    if (token === null) this.card.row(null, 0);
  }

  /** Another head, or their mean. */
  choose(head: View["head"]): void {
    this.view.head = head;
    this.row_ = this.matrix_ = NONE;
    this.card.head = head;
  }

  /** Another run: what was told of the old one is void. */
  begin(): void {
    const { n_tokens, n_heads } = this.store.began!;
    if (this.token === null && this.view.token !== null && this.view.token < n_tokens) this.token = this.view.token;
    if (this.token !== null && this.token >= n_tokens) this.pick(null);
    this.row = null;
    this.row_ = this.matrix_ = NONE;
    if (typeof this.view.head === "number" && this.view.head >= n_heads) this.view.head = 0;
    this.card.heads(n_heads, this.view.head);
  }

  opened(open: boolean): void {
    this.view.matrix = open;
    this.matrix_ = NONE;
  }

  /** A frame is shown: ask for what is not there of it. */
  at(frame: number): void {
    const head = this.view.head;
    if (this.token !== null && this.row_ !== frame && this.row_ !== UNDER_WAY) {
      this.row_ = UNDER_WAY;
      this.source.send({ type: "row", frame, token: this.token, head });
    }
    if (this.card.open && this.matrix_ !== frame && this.matrix_ !== UNDER_WAY) {
      this.matrix_ = UNDER_WAY;
      this.source.send({ type: "matrix", frame, head });
    }
  }

  /** A row came. That of another token or head is an old answer; the new one is on its way. */
  rowCame(row: Row): void {
    if (row.token !== this.token || row.head !== this.view.head) return;
    this.row = row;
    this.row_ = row.frame;
    this.card.row(row, this.store.frames[row.frame]?.labels[row.token] ?? 0);
    this.onmove();
  }

  /** A matrix came; shown: the frame that is seen now. */
  matrixCame({ index, head, weights, size }: MatrixPacket, shown: number | undefined): void {
    if (head !== this.view.head) return;
    this.card.matrix(weights, size, this.store.began!.n_tokens);
    this.matrix_ = index;
    if (index !== shown) this.onmove();
  }
}
