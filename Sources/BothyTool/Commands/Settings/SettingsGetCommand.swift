import ArgumentParser
import BothySettings
import BothyStore

/// `bothy settings get`: prints all groups, one group, or one value.
struct SettingsGetCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "get",
    abstract: "Prints all groups, one group, or one value.",
    discussion: """
      Example:  bothy settings get app.bothy
                bothy settings get app.bothy LocaleSettings --json
                bothy settings get app.bothy LocaleSettings timeFormat
      """)

  @Argument(help: ArgumentHelp("The file.", valueName: "db"), completion: .file()) var path: String
  @Argument(help: "The group; all of them when left out.") var group: String?
  @Argument(help: "The setting; all of the group's when left out.") var key: String?
  @OptionGroup var output: OutputOptions

  func run() async throws {
    try await SettingsCommand.with(path) { store in
      let stored = StoredSettings(in: store)
      guard let group else { return try print(stored.groups()) }
      let row = try stored.group(group)
      guard let key else {
        return try output.print {
          row.text
        } json: {
          row.write(to: &$0)
        }
      }
      let field = try row.field(key)
      let value = field.written(row.values[field.name] ?? .null)
      try output.print {
        value.plainText
      } json: { writer in
        writer.member("group", group)
        writer.member("key", key)
        writer.key("value")
        value.write(to: &writer)
      }
    }
  }

  private func print(_ groups: [SettingsRow]) throws {
    try output.print {
      groups.isEmpty ? "No app has stored settings in \(path)." : groups.map(\.text).joined(separator: "\n\n")
    } json: { writer in
      writer.list("groups", groups) { $1.write(to: &$0) }
    }
  }
}
