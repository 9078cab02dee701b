import BothyStore

/// The type of records whose fields merge in different ways.
enum MergingMemo {
  /// A title, a note, a counter and lines of which both sides are kept.
  static func schema(_ more: FieldSchema...) -> StoreSchema {
    StoreSchema(
      version: 1,
      types: [
        TypeSchema(
          "Memo",
          fields: [
            FieldSchema("title", .text, default: ""), FieldSchema("note", .text, optional: true),
            FieldSchema("count", .int, default: 0, merge: .counter),
            FieldSchema("lines", .text, optional: true, merge: .keepBoth),
          ] + more)
      ])
  }
}
