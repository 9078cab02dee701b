public import BothyStore
import Synchronization

/// The place where groups of settings are stored: a file of their own, or the file of a store.
///
/// Creating a home does nothing. The file is opened when the first group is read. If that fails, `update` throws the
/// error and `SharedSettings.problem` has it, while readers get the defaults.
///
/// ```swift
/// enum AppSettings {
///   static let home = SettingsContainer(appGroup: "group.org.example.app")
/// }
/// ```
public final class SettingsContainer: Sendable {
  private struct State {
    var store: LocalStore?
    /// The Swift type that uses each name.
    var types: [String: ObjectIdentifier] = [:]
  }

  private let opening: @Sendable () throws -> LocalStore
  /// True if the home opens the file by itself, with whatever schema it has.
  private let isOwn: Bool
  private let state = Mutex(State())

  /// A home in the store that `opening` returns. `opening` is called when a group is first read, and again if it
  /// threw.
  ///
  /// It runs on the thread of that read or commit, while others wait. It must not use settings of this home. Use it
  /// for a store that can't be opened at launch.
  public init(opening: @escaping @Sendable () throws -> LocalStore) {
    isOwn = false
    self.opening = opening
  }

  /// A home that opens its file by itself.
  private init(file opening: @escaping @Sendable () throws -> LocalStore) {
    isOwn = true
    self.opening = opening
  }

  /// Kept in a store that is open, beside its records. A group whose `recordType` is in the store's schema is kept as a
  /// record of that type, and synced where the store is.
  public convenience init(_ store: LocalStore) { self.init(opening: { store }) }

  /// A home in the file at `path`, which is created if it doesn't exist. Any Bothy file can be used.
  ///
  /// The file of a store keeps its records. A damaged file is left as it is, and reads give the defaults.
  public convenience init(at path: String) { self.init(file: { try Self.open(path) }) }

  /// Kept in a file of the container that the app shares with its extensions.
  ///
  /// Without a container, `update` throws `BothyError` `.noContainer`, and reads give the defaults.
  public convenience init(appGroup identifier: String, file: String = "settings.bothy") {
    self.init(file: { try Self.open(AppGroupFolder(appGroup: identifier).path(of: file)) })
  }

  /// Kept in memory, for tests and previews. Each call returns an empty home of its own.
  public static func inMemory() -> SettingsContainer {
    SettingsContainer(opening: { try LocalStore(inMemory: StoreSchema(types: [])) })
  }

  /// Returns the store, and opens it first if necessary.
  ///
  /// Throws `BothyError`. A file that can't be used is left as it is.
  package func store() throws -> LocalStore {
    try state.withLock { state in
      if let store = state.store { return store }
      let store = try opening()
      state.store = store
      return store
    }
  }

  /// Runs `body` with the store. If another store of the app has converted the file since this home opened it, `body` runs
  /// once more with one that has the file's present schema.
  func withStore<Result>(_ body: (LocalStore) throws -> Result) throws -> Result {
    let store = try store()
    do { return try body(store) } catch let error as BothyError
      where error.code == .newerFile && forget(store)
    {
      return try body(self.store())
    }
  }

  /// Has the next call open the file again, with its present schema. The store that is open ends with its last user.
  /// Returns false for a store that was given.
  func forget(_ store: LocalStore) -> Bool {
    guard isOwn else { return false }
    state.withLock { if $0.store === store { $0.store = nil } }
    return true
  }

  /// Closes the file; streams of changes end, and the next commit, `load`, stream or first read opens it again. A store
  /// that was given is closed as well.
  ///
  /// A home that was never opened does nothing. Settings that were read keep their last value.
  public func close() throws {
    let store = state.withLock { state in
      defer { state.store = nil }
      return state.store
    }
    try store?.close()
  }

  /// Throws `BothyError` `nameTaken` when another type of the app has the group's name here.
  func register<Group: SettingsGroup>(_ group: Group.Type) throws(BothyError) {
    let name = Group.groupName
    let isFree = state.withLock { state in
      defer { if state.types[name] == nil { state.types[name] = ObjectIdentifier(group) } }
      return state.types[name].map { $0 == ObjectIdentifier(group) } ?? true
    }
    guard !isFree else { return }
    throw BothyError(
      .nameTaken,
      "Two types of this app are settings groups called '\(name)' in one home. Give one of them another name: "
        + "@SettingsGroup(\"…\"), or `groupName` where the conformance is written by hand.")
  }

  /// Settings are read once and written seldom: one reader and a small page cache.
  private static func open(_ path: String) throws -> LocalStore {
    var options = StoreOptions(readers: 1, cacheSize: 256 << 10)
    options.damagedFile = .leave
    do { return try LocalStore(at: path, schema: StoreSchema(types: []), options: options) } catch let error
      as BothyError
      where error.code == .schemaMismatch || error.code == .newerFile
    {
      // The file of a store with records: they are left alone.
      return try LocalStore(existing: path, options: options)
    }
  }
}
