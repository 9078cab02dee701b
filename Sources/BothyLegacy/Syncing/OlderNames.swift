public import BothyStore
public import BothySync

// The older SDK's words for policies, as deprecated names. The compiler's fix-it writes the present word.

/// The older SDK's name of the read policies, with `networkOnly`, `networkElseCache`, `cacheOnly` and
/// `cacheElseNetwork`.
@available(*, deprecated, renamed: "ReadPolicy")
public typealias FetchPolicy = ReadPolicy

/// The older SDK's name of the write policies, with `networkThenCache`, `networkOnly` and `cacheOnly`.
@available(*, deprecated, renamed: "WritePolicy")
public typealias SavePolicy = WritePolicy

extension ReadPolicy {
  /// The server, or an error. Each read is a request.
  @available(*, deprecated, renamed: "remote")
  public static var networkOnly: ReadPolicy { .remote }
  /// The server, else the local copy if the server can't be reached.
  @available(*, deprecated, renamed: "remoteElseLocal")
  public static var networkElseCache: ReadPolicy { .remoteElseLocal }
  /// The local copy. Makes no request.
  @available(*, deprecated, renamed: "local")
  public static var cacheOnly: ReadPolicy { .local }
  /// The local copy, else the server if there is none.
  @available(*, deprecated, renamed: "localElseRemote")
  public static var cacheElseNetwork: ReadPolicy { .localElseRemote }
}

extension WritePolicy {
  /// The server first, then the local file. Kept as pending if the server can't be reached.
  @available(*, deprecated, renamed: "remoteThenLocal")
  public static var networkThenCache: WritePolicy { .remoteThenLocal }
  /// The server, or an error.
  @available(*, deprecated, renamed: "remote")
  public static var networkOnly: WritePolicy { .remote }
  /// The local file, until a sync sends it.
  @available(*, deprecated, renamed: "local")
  public static var cacheOnly: WritePolicy { .local }
}

extension MergePolicy {
  /// The server's state stays in a conflict: one in which its record has changed since.
  @available(*, deprecated, renamed: "remoteWins")
  public static var serverModifiedWins: MergePolicy { .remoteWins }
  /// The local record replaces the server's in a conflict.
  @available(*, deprecated, renamed: "localWins")
  public static var clientWins: MergePolicy { .localWins }
  /// The later edit wins a conflict, by server-corrected time.
  @available(*, deprecated, renamed: "latestWins")
  public static var lastModifiedWins: MergePolicy { .latestWins }
}
