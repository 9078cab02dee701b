public import BothyStore
public import Foundation

/// Opening by file, by name, and in memory.
extension SyncedStore {
  /// Opens or creates a file. Makes no request.
  ///
  /// ```swift
  /// let store = try SyncedStore(
  ///   at: URL.documentsDirectory.appending(path: "todos.bothy"), schema: [TodoList.self, Todo.self],
  ///   remote: BothyRemote(url: "https://todo.example.org", space: "home") { try await token() })
  /// ```
  ///
  /// Throws `BothyError` for a file that can't be opened or brought to the schema; it stays as it was.
  public convenience init(
    at file: URL, schema: StoreSchema, remote: any RemoteStorage, migrations: [Migration] = [],
    configuration: SyncOptions = SyncOptions()
  ) throws {
    try self.init(
      at: file.path, schema: schema, migrations: migrations, remote: remote, configuration: configuration)
  }

  /// Opens or creates `name.bothy` in the app's Application Support folder; on Linux in `$XDG_DATA_HOME/bothy`, else in
  /// `~/.local/share/bothy`. The folder is created for its owner alone. Makes no request.
  ///
  /// Throws `BothyError` as for a file, and `cannotOpen` for a name that is empty or holds a slash.
  public convenience init(
    named name: String, schema: StoreSchema, remote: any RemoteStorage, migrations: [Migration] = [],
    configuration: SyncOptions = SyncOptions()
  ) throws {
    try self.init(
      at: Self.file(named: name), schema: schema, remote: remote, migrations: migrations,
      configuration: configuration)
  }

  /// Opens a store in memory, for tests and previews. It is gone when it is released.
  public static func inMemory(
    _ schema: StoreSchema, remote: any RemoteStorage = .none,
    configuration: SyncOptions = SyncOptions()
  ) throws -> SyncedStore {
    try SyncedStore(at: nil, schema: schema, remote: remote, configuration: configuration)
  }

  /// The file of a store with a name. Creates the folder.
  package static func file(named name: String) throws -> URL {
    guard !name.isEmpty, !name.contains("/"), !name.hasPrefix(".") else {
      throw BothyError(
        .cannotOpen, "'\(name)' can't name a store. Use letters and digits, such as \"todos\".")
    }
    let folder = dataFolder()
    do {
      try FileManager.default.createDirectory(
        at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    } catch {
      throw BothyError(
        .cannotOpen,
        "The folder \(folder.path) can't be created. Free the path, or open the store at another file.",
        underlying: error)
    }
    return folder.appendingPathComponent(name + ".bothy")
  }

  private static func dataFolder() -> URL {
    #if canImport(Darwin)
      URL.applicationSupportDirectory
    #else
      let given = ProcessInfo.processInfo.environment["XDG_DATA_HOME"].flatMap {
        $0.hasPrefix("/") ? $0 : nil
      }
      return URL(
        fileURLWithPath: (given ?? NSHomeDirectory() + "/.local/share") + "/bothy", isDirectory: true)
    #endif
  }
}
