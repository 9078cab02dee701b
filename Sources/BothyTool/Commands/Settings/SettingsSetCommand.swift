import ArgumentParser
import BothySettings
import BothyStore

/// `bothy settings set`: sets one value, or resets it to its default.
struct SettingsSetCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "set",
    abstract: "Sets one value, or gives it back its default.",
    discussion: """
      Texts, dates and UUIDs are given as they are, everything else as JSON: 24,
      true, 0.5, null. Without a value the setting gets its default. Every app that
      has the group open is told.

      Example:  bothy settings set app.bothy LocaleSettings timeFormat 24
                bothy settings set app.bothy LocaleSettings timeFormat
      """)

  @Argument(help: ArgumentHelp("The file.", valueName: "db"), completion: .file()) var path: String
  @Argument(help: "The group.") var group: String
  @Argument(help: "The setting.") var key: String
  @Argument(help: "The new value; its default when left out.") var value: String?
  @OptionGroup var output: OutputOptions

  func run() async throws {
    try await SettingsCommand.with(path) { store in
      if store.schema[group]?.isSynced == true {
        throw ToolError(
          "\(group) is synced as a record. Set it with `bothy db put \(path) \(group) "
            + "'{\"id\":\"\(SettingsStorage.recordID)\",\"\(key)\":…}'`.")
      }
      let (old, new) = try StoredSettings(in: store).set(group, key) { try value.map(Self.read($0)) }
      let field = try new.field(key)
      let (before, after) = (
        field.written(old.values[key] ?? .null), field.written(new.values[key] ?? .null)
      )
      try output.print {
        before == after
          ? "\(group).\(key) is \(after.plainText) already."
          : "\(group).\(key) is \(after.plainText), was \(before.plainText)."
      } json: { writer in
        writer.member("group", group)
        writer.member("key", key)
        writer.key("old")
        before.write(to: &writer)
        writer.key("value")
        after.write(to: &writer)
        writer.member("changed", before != after)
      }
    }
  }

  /// Returns a closure that parses the typed text as a value of the field.
  private static func read(_ field: FieldSchema) -> (String) throws -> FieldValue {
    { text in
      let refused = BothyError(
        .invalidValue, "'\(text)' does not fit: \(field.name) must be \(field.kind.phrase).")
      do {
        switch field.kind {
        case .text, .uuid, .data: return try field.value(written: .string(text))
        case .date where Int64(text) == nil && text != "null":
          return try FieldValue(json: .string(text), kind: field.kind)
        default: return try FieldValue(json: JSONValue(parsing: text), kind: field.kind)
        }
      } catch is FieldValueError { throw refused } catch is JSONError { throw refused }
    }
  }
}
