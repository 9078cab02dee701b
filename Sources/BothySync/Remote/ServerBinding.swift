import BothyStore

// The server, the history and the user that a file is bound to.

/// The binding of a file to its server, which decides if the file may still be synced.
struct ServerBinding: Sendable, Equatable {
  /// The history that the file followed, with its highest known position, or `nil` before the first answer.
  var history: ServerHistory?
  /// The user whose file it is.
  var owner: AccountID?
  /// True from the moment at which the pending changes were exported or given up.
  var isSignedOut = false
  /// The decision about the next complete answer, whatever local records it lacks.
  var decision: Decision?
  /// The history that was given up by that decision.
  var former: ServerHistory?
  /// True if the decision was made that the file stays with the server that it was synced with.
  var isApart = false

  /// True if the next server that answers is the file's from then on.
  var isAdopting: Bool { decision != nil }

  /// The history that the local versions come from. While a decision is carried out, the file may already be bound to
  /// the server that answers.
  var followed: ServerHistory? { isAdopting ? former : history }

  /// A cursor that no page continues, by which the server of another history says so.
  var followedCursor: String? {
    followed.map { Cursor(epoch: $0.epoch, position: $0.position, scopeMark: "").token }
  }

  /// The decision about local records that the next server lacks. The raw values are those of the file.
  enum Decision: String, Sendable {
    /// They are removed.
    case adopt = "1"
    /// They become pending work.
    case uploadMine = "upload"
  }

  private static let server = "history.server"
  private static let space = "history.space"
  private static let epoch = "history.epoch"
  private static let adopting = "history.adopting"
  private static let former = "history.former"
  private static let apart = "history.apart"
  static let signedOut = "signedOut"
  private static let reached = "history.reached"

  static func load(in transaction: ReadTransaction) throws -> ServerBinding {
    var binding = ServerBinding()
    binding.owner = try FileOwner.stored(in: transaction)
    binding.isSignedOut = try isSignedOut(in: transaction)
    binding.decision = try SyncValues.value(adopting, in: transaction).map {
      Decision(rawValue: $0) ?? .adopt
    }
    binding.isApart = try SyncValues.value(apart, in: transaction) != nil
    binding.former = try SyncValues.value(former, in: transaction).flatMap(Self.history)
    guard let server = try SyncValues.value(server, in: transaction),
      let space = try SyncValues.value(space, in: transaction)
    else { return binding }
    let epoch = try SyncValues.value(epoch, in: transaction) ?? ""
    let position = try reached(epoch, in: transaction)
    binding.history = ServerHistory(server: server, space: space, epoch: epoch, position: position ?? 0)
    return binding
  }

  /// Returns the highest known position of a history, also by cursors that were given up since.
  private static func reached(_ epoch: String, in transaction: ReadTransaction) throws -> Int64? {
    let noted = try SyncValues.value(reached, in: transaction).flatMap(Cursor.init(token:))
    var known = try cursors(in: transaction)
    if let noted { known.append(noted) }
    return known.filter { $0.epoch == epoch }.map(\.position).max()
  }

  /// Notes the position of a cursor that is given up.
  static func note(_ token: String?, in transaction: WriteTransaction) throws {
    guard let cursor = token.flatMap(Cursor.init(token:)) else { return }
    let known = try reached(cursor.epoch, in: transaction) ?? -1
    let highest = Cursor(epoch: cursor.epoch, position: max(cursor.position, known), scopeMark: "")
    try SyncValues.set(reached, highest.token, in: transaction)
  }

  private static func cursors(in transaction: ReadTransaction) throws -> [Cursor] {
    try PullState.all(in: transaction).compactMap { $0.cursor.flatMap(Cursor.init(token:)) }
  }

  /// Binds a file that was bound to nothing. A file that was synced before files were bound keeps the epoch of its
  /// cursors.
  static func bind(_ found: ServerHistory, _ user: String?, in transaction: WriteTransaction) throws {
    let known = try load(in: transaction)
    if known.owner == nil, let user {
      _ = try FileOwner.bind(AccountID(space: found.space, user: user), in: transaction)
    }
    guard known.history?.epoch.isEmpty ?? true else { return }
    var history = found
    if known.history == nil, !known.isAdopting,
      let epoch = try cursors(in: transaction).map(\.epoch).max(), !epoch.isEmpty
    {
      history.epoch = epoch
    }
    try save(history, in: transaction)
  }

  private static func save(_ history: ServerHistory, in transaction: WriteTransaction) throws {
    try SyncValues.set(server, history.server, in: transaction)
    try SyncValues.set(space, history.space, in: transaction)
    try SyncValues.set(epoch, history.epoch, in: transaction)
  }

  /// Binds a file to the history of another file, whose pending work it takes over. A file that is bound, or adopts the
  /// next history, stays as it is.
  static func inherit(_ history: ServerHistory?, in transaction: WriteTransaction) throws {
    let known = try load(in: transaction)
    guard let history, known.history == nil, !known.isAdopting else { return }
    try save(history, in: transaction)
  }

  /// Notes that the local records have been compared with a history, which the file follows from now on.
  static func take(_ history: ServerHistory?, in transaction: WriteTransaction) throws {
    if let history {
      if try SyncValues.value(epoch, in: transaction) != history.epoch {
        try ReplacedFields.forgetAll(in: transaction)
      }
      try save(history, in: transaction)
    }
    for key in [adopting, former, reached] { try SyncValues.remove(key, in: transaction) }
  }

  /// Has the file follow the history that answers next: of its server, or of any one after a decision.
  static func followNext(in transaction: WriteTransaction) throws {
    for key in [epoch, adopting, former, reached] { try SyncValues.remove(key, in: transaction) }
    try ReplacedFields.forgetAll(in: transaction)
  }

  /// Gives up the history that the file followed, and adopts the next one that answers. An earlier decision that wasn't
  /// carried out no longer counts. The cursors stay, so that the server says if it has that history. Then it has lost
  /// nothing.
  static func decide(_ decision: Decision, in transaction: WriteTransaction) throws {
    if let history = try load(in: transaction).followed {
      var writer = JSONWriter()
      history.write(to: &writer)
      try SyncValues.set(former, String(decoding: writer.bytes, as: UTF8.self), in: transaction)
    }
    for key in [server, space, epoch, apart, reached] { try SyncValues.remove(key, in: transaction) }
    try SyncValues.set(adopting, decision.rawValue, in: transaction)
    try ReplacedFields.forgetAll(in: transaction)
  }

  /// Decides that the file stays as it is, until the server that it was synced with answers.
  static func setApart(_ isApart: Bool, in transaction: WriteTransaction) throws {
    guard isApart else { return try SyncValues.remove(apart, in: transaction) }
    try SyncValues.set(apart, "1", in: transaction)
  }

  private static func history(_ text: String) -> ServerHistory? {
    // Text that can't be read counts as no known history.
    try? JSONReader.read(Array(text.utf8)) { try ServerHistory(from: &$0) }
  }

  /// Marks the file as signed out.
  ///
  /// - Parameter isDiscarding: true if the documents of pending changes beside it are given up too.
  static func signOut(isDiscarding: Bool, in transaction: WriteTransaction) throws {
    try SyncValues.set(signedOut, isDiscarding ? discarded : "1", in: transaction)
  }

  /// Marks the file as one that a new file replaces.
  ///
  /// - Parameter document: the ending of the name of the document beside the file that has its pending changes, or `nil`
  ///   if it had none.
  static func replace(by document: String?, in transaction: WriteTransaction) throws {
    try SyncValues.set(signedOut, replaced + (document ?? ""), in: transaction)
  }

  private static let discarded = "discarded"
  private static let replaced = "replaced"

  static func isReplaced(in transaction: ReadTransaction) throws -> Bool {
    try SyncValues.value(signedOut, in: transaction)?.hasPrefix(replaced) ?? false
  }

  /// Returns the ending of the name of a replaced file's document, or `nil`.
  static func document(in transaction: ReadTransaction) throws -> String? {
    guard let mark = try SyncValues.value(signedOut, in: transaction), mark.hasPrefix(replaced) else {
      return nil
    }
    return mark == replaced ? nil : String(mark.dropFirst(replaced.count))
  }

  static func isDiscarded(in transaction: ReadTransaction) throws -> Bool {
    try SyncValues.value(signedOut, in: transaction) == discarded
  }

  static func isAdopting(in transaction: ReadTransaction) throws -> Bool {
    try SyncValues.value(adopting, in: transaction) != nil
  }

  static func isSignedOut(in transaction: ReadTransaction) throws -> Bool {
    try SyncValues.value(signedOut, in: transaction) != nil
  }
}

extension ServerHistory {
  /// The message for a file that is kept apart from another server.
  static let apart =
    "The file is kept apart from the server that answers. It can be read and written; nothing is sent or removed."

  /// Returns the message that the server lacks `lost` records which the file has from it.
  static func loss(_ lost: Int) -> String {
    "The server was restored or emptied: it lacks \(lost) record\(lost == 1 ? "" : "s") "
      + "that this file has from it, or newer versions of them. Nothing was sent or removed."
  }
}

/// The owner that is stored in a file.
enum FileOwner {
  /// Makes the account the file's owner, or checks that it is. Returns the owner, or `nil` if none was ever set. Throws
  /// `BothyError` `wrongAccount`.
  static func bind(_ owner: AccountID?, in transaction: WriteTransaction) throws -> AccountID? {
    let stored = try check(owner, in: transaction)
    guard let owner, stored == nil else { return stored }
    try SyncValues.set("owner.space", owner.space, in: transaction)
    try SyncValues.set("owner.principal", owner.user, in: transaction)
    return owner
  }

  /// Returns the owner of a file, or `nil` if none was ever set. Throws `BothyError` `wrongAccount` for another one than
  /// `owner`.
  static func check(_ owner: AccountID?, in transaction: ReadTransaction) throws -> AccountID? {
    let stored = try stored(in: transaction)
    guard let owner, let stored, owner != stored else { return stored }
    throw BothyError(
      .wrongAccount,
      "The file belongs to \(stored), not to \(owner). Open the file of that account, or another one.")
  }

  static func stored(in transaction: ReadTransaction) throws -> AccountID? {
    guard let space = try SyncValues.value("owner.space", in: transaction),
      let user = try SyncValues.value("owner.principal", in: transaction)
    else { return nil }
    return AccountID(space: space, user: user)
  }

  /// Returns the owner of a file and the number of its pending changes. It doesn't open the file as a store, and
  /// returns `nil` for other files, and for one whose work was exported or given up by signing out.
  static func look(at path: String) throws -> Account.Parked? {
    try SyncValues.reading(path) { transaction in
      guard let owner = try stored(in: transaction), try !ServerBinding.isSignedOut(in: transaction) else {
        return nil
      }
      return Account.Parked(id: owner, path: path, pending: try OutboxQueue.counts(in: transaction))
    }
  }
}

extension SyncedStore {
  /// The space that the file at `path` was synced with, nil before the first sync. Opens the file for reading only. Throws
  /// `BothyError`.
  package static func syncedSpace(at path: String) throws -> String? {
    try SyncValues.reading(path) { try ServerBinding.load(in: $0).history?.space }
  }
}
