import ArgumentParser
import BothySettings
import BothyStore

/// `bothy settings`: reads and writes groups of settings that apps store in a file.
struct SettingsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "settings",
    abstract: "Reads, sets and watches the settings that apps keep in a file.",
    discussion: """
      A group is made by the app that declares it; here its values are read and set
      by name. Apps that have it open hear of a change at once. What an app checks
      before it stores a change (willUpdate) is not checked here, only the kind of
      the value.

      Example:  bothy settings get app.bothy
                bothy settings get app.bothy LocaleSettings timeFormat
                bothy settings set app.bothy LocaleSettings timeFormat 24
                bothy settings watch app.bothy LocaleSettings --json
      """,
    subcommands: [SettingsGetCommand.self, SettingsSetCommand.self, SettingsWatchCommand.self])

  /// Opens an existing file. Creates nothing, and leaves a damaged file unchanged.
  static func open(_ path: String) throws -> LocalStore {
    var options = StoreOptions(readers: 1, cacheSize: 1 << 20)
    options.damagedFile = .leave
    do { return try LocalStore(existing: path, options: options) } catch let error as BothyError
      where error.code == .cannotOpen
    {
      throw ToolError(
        "\(path) has no settings: \(error.message) Apps make the file when they first read a group.")
    }
  }

  /// Opens an existing file, runs `body` and closes it.
  static func with<Result>(_ path: String, _ body: (LocalStore) async throws -> Result) async throws -> Result
  {
    let store = try open(path)
    return try await Opened.use(store, body, close: { try $0.close() })
  }
}

/// The printed form of groups and values.
extension SettingsRow {
  /// One line for the group, and one for each value.
  var text: String {
    let width = fields.map(\.name.count).max() ?? 0
    let lines = fields.map { field in
      let padding = String(repeating: " ", count: width - field.name.count)
      return "  \(field.name)\(padding)  \(field.written(values[field.name] ?? .null).plainText)"
    }
    return (["\(name) (version \(version))"] + lines).joined(separator: "\n")
  }
}

extension FieldValue {
  /// Texts unquoted, everything else as JSON.
  var plainText: String {
    if case .text(let text) = self { return text }
    var writer = JSONWriter()
    write(to: &writer)
    return writer.string
  }
}
