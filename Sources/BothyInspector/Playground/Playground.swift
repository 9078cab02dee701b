package import BothyStore
package import BothySync

/// The content of the playground: two devices side by side.
package enum Playground {
  /// Returns the schema of the devices: trips, whose country the server requires.
  package static func schema(isStrict: Bool) -> StoreSchema {
    StoreSchema(types: [
      TypeSchema(
        "Trip",
        fields: [
          FieldSchema("title", .text, merge: .latest), FieldSchema("country", .text, optional: !isStrict),
          FieldSchema("notes", .text, optional: true, merge: .keepBoth),
          FieldSchema("nights", .int, default: 1, merge: .counter),
          FieldSchema("done", .bool, default: false),
        ])
    ])
  }
}

/// One device of the playground.
package struct PlayDevice: Sendable {
  package var name: String
  package var store: SyncedStore
  package var isOnline: @Sendable () -> Bool
  package var setOnline: @Sendable (Bool) -> Void
  /// Returns the address of its inspector, or `nil` while it isn't open.
  package var inspector: @Sendable () -> String?

  package init(
    _ name: String, store: SyncedStore, isOnline: @escaping @Sendable () -> Bool,
    setOnline: @escaping @Sendable (Bool) -> Void, inspector: @escaping @Sendable () -> String?
  ) {
    self.name = name
    self.store = store
    self.isOnline = isOnline
    self.setOnline = setOnline
    self.inspector = inspector
  }
}
