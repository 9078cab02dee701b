import ArgumentParser

/// `bothy db`: reads and writes records in a database file.
struct DatabaseCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "db",
    abstract: "Makes a database file; reads, writes, imports and watches its records.",
    discussion: """
      Example:  bothy db create notes.bothy --schema schema.json
                bothy db put notes.bothy Note '{"title":"Milk"}'
                bothy db query notes.bothy Note --order title
      """,
    subcommands: [
      CreateCommand.self, PutCommand.self, GetCommand.self, DeleteCommand.self, QueryCommand.self,
      CountCommand.self, BlobCommand.self, ImportCommand.self, ExportCommand.self, WatchCommand.self,
      ChangesCommand.self, ShareCommand.self, SignOutCommand.self, SalvageCommand.self,
    ])
}
