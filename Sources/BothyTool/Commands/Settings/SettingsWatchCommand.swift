import ArgumentParser
import BothySettings
import BothyStore

/// `bothy settings watch`: prints a group each time it changes.
struct SettingsWatchCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "watch",
    abstract: "Prints a group or one value now and after each change of it, by any process.",
    discussion: """
      With --json one document a line. Ends at Ctrl-C, or after --count documents.

      Example:  bothy settings watch app.bothy LocaleSettings --json
                bothy settings watch app.bothy LocaleSettings timeFormat
      """)

  @Argument(help: ArgumentHelp("The file.", valueName: "db"), completion: .file()) var path: String
  @Argument(help: "The group.") var group: String
  @Argument(help: "The setting; all of the group's when left out.") var key: String?
  @Option(help: ArgumentHelp("End after this number of changes.", valueName: "n")) var count: Int?
  @OptionGroup var output: OutputOptions

  func validate() throws {
    guard count ?? 1 > 0 else { throw ValidationError("--count is at least 1.") }
  }

  func run() async throws {
    try await SettingsCommand.with(path) { store in
      let stored = StoredSettings(in: store)
      let first = try stored.group(group)
      if let key { _ = try first.field(key) }
      let values = try stored.values(of: group)
      let (key, output, count) = (key, output, count)
      try await Interrupts.running {
        var last: SettingsRow?
        var seen = 0
        for try await row in values {
          guard let row else { continue }
          let changed = last.map { row.changedKeys(since: $0) } ?? []
          let isNews = last == nil || !changed.isEmpty && key.map { changed.contains($0) } ?? true
          last = row
          guard isNews else { continue }
          try Self.print(row, key, changed, output)
          seen += 1
          if seen == count { return }
        }
      }
    }
  }

  private static func print(
    _ row: SettingsRow, _ key: String?, _ changed: [String], _ output: OutputOptions
  ) throws {
    let value = try key.map { try row.field($0).written(row.values[$0] ?? .null) }
    try output.print {
      value?.plainText ?? row.text + "\n"
    } json: { writer in
      if let key, let value {
        writer.member("group", row.name)
        writer.member("key", key)
        writer.key("value")
        value.write(to: &writer)
      } else {
        row.write(to: &writer)
        writer.names("changedKeys", changed.sorted())
      }
    }
  }
}
