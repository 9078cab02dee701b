import BothyStore

/// The type of record that a new app begins with, as Swift and as a schema. Both must say the same.
enum ItemTemplate {
  static let schema = StoreSchema(types: [
    TypeSchema(
      "Item", fields: [FieldSchema("title", .text), FieldSchema("isDone", .bool, default: .bool(false))])
  ])

  static let text =
    "import Bothy\nimport Foundation\n\n" + """
      /// A thing to do. `@Entity` makes it a type of record with a table in the file, an `id` and checked queries.
      @Entity struct Item {
        var title: String
        var isDone = false
      }

      /// Opens the file on this device and names its server. Opening sends no request.
      func openStore(at path: String) throws -> SyncedStore {
        let remote = BothyRemote(
          url: "\(StarterServer.address)", space: "\(StarterServer.space)",
          token: { ProcessInfo.processInfo.environment["BOTHY_TOKEN"] })
        return try SyncedStore(at: path, schema: [Item.self], remote: remote)
      }

      """
}
