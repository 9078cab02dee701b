/// The commands of a new app.
enum AppTemplate {
  static func text(_ name: StarterName) -> String {
    "import Bothy\n\n" + """
      /// The app on the command line: `swift run \(name.text) [FILE.bothy] COMMAND [TITLE]`.
      @main struct CommandLineApp {
        static func main() async throws {
          var words = CommandLine.arguments.dropFirst()
          let namesFile = words.first?.hasSuffix(".bothy") ?? false
          let path = namesFile ? words.removeFirst() : "\(name.text).bothy"
          let command = words.popFirst() ?? "list"
          let title = words.joined(separator: " ")
          guard command != "schema" else { return printSchema() }

          let store = try openStore(at: path)
          switch command {
          case "add": try await add(title, to: store)
          case "done": try await finish(title, in: store)
          case "list": show(try await store.fetch(everything))
          case "sync": await sync(store)
          case "watch": try await watch(store)
          default: print("The commands are: add TITLE, done TITLE, list, sync, watch, schema.")
          }
        }

        static let everything = Item.order(by: \\.title)


      """ + actions
  }

  /// The functions behind the commands.
  private static let actions = """
      /// Saves a record. It is durable in the file when this returns, with and without a network.
      static func add(_ title: String, to store: SyncedStore) async throws {
        let receipt = try await store.save(Item(title: title))
        print("\\(title): \\(receipt.state.name)")
      }

      /// Changes records in one transaction, completely or not at all.
      static func finish(_ title: String, in store: SyncedStore) async throws {
        try await store.write { transaction in
          for item in try transaction.fetch(Item.where { $0.title == title }) {
            try transaction.update(item) { $0.isDone = true }
          }
        }
      }

      /// Sends pending changes and receives the changes of other devices.
      static func sync(_ store: SyncedStore) async {
        let report = await store.sync()
        print(report.message ?? "Sent \\(report.pushed), received \\(report.pulled)")
        for change in report.rejected { print("Rejected: \\(change.rejection.message)") }
        if report.obstacle == .signInRequired {
          print("Set BOTHY_TOKEN to a token of the server. README.md shows how to make one.")
        }
      }

      /// Shows the records now and after every change, and syncs meanwhile.
      static func watch(_ store: SyncedStore) async throws {
        let syncing = Task { await store.run() }
        defer { syncing.cancel() }
        for try await items in store.values(of: everything) { show(items) }
      }

      static func show(_ items: [Item]) {
        let lines = items.map { ($0.isDone ? "[x] " : "[ ] ") + $0.title }
        print(lines.isEmpty ? "No items." : lines.joined(separator: "\\n"))
      }

      /// Prints the schema for the server. Do this after a change of `Item`, and start the server again.
      static func printSchema() { print(StoreSchema(Item.self).json.canonicalText) }
    }

    """
}
