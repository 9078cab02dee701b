import GRDB

/// Reading and writing, synchronously on the calling thread or asynchronously outside it.
extension LocalStore {
  /// Runs `body` in one transaction and returns when it is durable. If `body` throws, throws its error and changes
  /// nothing. Blocks the calling thread while other writes finish.
  ///
  /// Writes of one store run one after another, those of other processes too. An error that `body` catches undoes
  /// nothing: the writes before it are committed. Reads inside the closure see the writes before them.
  ///
  /// ```swift
  /// func add(_ todo: Todo, to store: LocalStore) throws -> Int {
  ///   try store.write { transaction in
  ///     try transaction.insert(todo)
  ///     return try transaction.count(Todo.all)
  ///   }
  /// }
  /// ```
  ///
  /// - Throws: The error of `body`. Also `BothyError` `nestedWrite` inside another write of the store, `.busy` if
  ///   another process writes for longer than `StoreOptions.busyTimeout`, `.diskFull` and `.readOnly`. `cannotOpen`
  ///   means that the file was removed or replaced: close the store and open it again. `.newerFile` means that a newer
  ///   app has converted the file since it was opened. A closed store throws `database`.
  @discardableResult
  public func write<Result>(_ body: (WriteTransaction) throws -> Result) throws -> Result {
    try write(origin: .app, body)
  }

  /// Like the synchronous `write(_:)`, but without blocking a thread of the caller's executor.
  ///
  /// `body` runs on the writer's thread. If the task is cancelled before the commit, throws `BothyError` `.cancelled`
  /// and changes nothing.
  ///
  /// ```swift
  /// let store = try LocalStore(at: path, schema: [Todo.self])
  /// try await store.write { try $0.update(todo) { $0.done = true } }
  /// ```
  @discardableResult
  public func write<Result: Sendable>(
    _ body: @escaping @Sendable (WriteTransaction) throws -> Result
  ) async throws -> Result {
    try await write(origin: .app, body)
  }

  /// Runs `body` on one consistent state of the store. Costs 20 µs before the first read.
  ///
  /// Inside a closure of `read`, `write` or `observe` of the same store it joins that transaction. Inside a write it
  /// sees the changes of the write.
  ///
  /// Runs on the calling thread, which it blocks. Four reads of a file run at a time, and a further one waits for one
  /// of them. A store in memory has one connection, so its reads wait for its writes too.
  ///
  /// - Throws: The error of `body`, or `BothyError` `.corrupt` for a damaged page and `database` for a closed store.
  ///   `.newerFile` means that a newer app has converted the file since it was opened.
  public func read<Result>(_ body: (ReadTransaction) throws -> Result) throws -> Result {
    if let transaction = running.innermost { return try body(transaction) }
    do {
      return try connections.writer.read { database in
        try connections.schemaCheck?.run(in: database)
        let transaction = ReadTransaction(database, catalog)
        return try running.marking(transaction) { try body(transaction) }
      }
    } catch { throw known(error) }
  }

  /// Like the synchronous `read(_:)`, but without blocking a thread of the caller's executor.
  ///
  /// `body` runs on a thread of a reader. A task that was cancelled before the call throws `BothyError` `.cancelled`. A
  /// read that has begun runs to its end.
  ///
  /// ```swift
  /// let store = try LocalStore(at: path, schema: [Todo.self])
  /// let (open, all) = try await store.read { (try $0.count(Todo.where { !$0.done }), try $0.count(Todo.all)) }
  /// ```
  public func read<Result: Sendable>(
    _ body: @escaping @Sendable (ReadTransaction) throws -> Result
  ) async throws -> Result {
    let check = connections.schemaCheck
    do {
      return try await connections.writer.read { [catalog, running] database in
        try check?.run(in: database)
        let transaction = ReadTransaction(database, catalog)
        return try running.marking(transaction) { try body(transaction) }
      }
    } catch { throw known(error) }
  }

  /// Returns the record with `id`, or nil. Reads one row by primary key on a kept connection, in a few microseconds.
  /// Inside a transaction's closure it joins that transaction. Throws as `ReadTransaction.fetch(_:id:)`.
  package func fetch<E: Entity>(_ type: E.Type, id: String) throws -> E? {
    if let transaction = running.innermost { return try transaction.fetch(type, id: id) }
    do {
      let table = try catalog.table(E.typeName)
      let reading = Reading.next()
      return try connections.lookUp { database in
        let select = try PreparedStatement(table.selectByIDSQL, in: database)
        select.bind(id, at: 1)
        defer { select.reset() }
        let isFound = try select.step()
        try connections.schemaCheck?.run(in: database)
        guard isFound else { return nil }
        var decoder = FieldDecoder(row: select.pointer, table, reading: reading)
        do throws(BothyError) { return try E(id: id, from: &decoder) } catch {
          return try table.entity(type, id, of: select, decoder.readMark, after: error, leavesOut: false)
        }
      }
    } catch { throw known(error) }
  }

  /// Looks up a record like `fetch(_:id:)`, for the benchmarks, which are a package of their own.
  @_spi(Benchmarks) public func lookUp<E: Entity>(_ type: E.Type, id: String) throws -> E? {
    try fetch(type, id: id)
  }

  /// Returns the metadata of a record of a synced type, or nil if it isn't on this device. Reads one row by primary
  /// key.
  package func metadata(of id: RecordID) throws -> RecordMetadata? {
    try read { try $0.row($0.catalog.table(id.type), id: id.id)?.metadata }
  }

  /// Returns the record of any type, or nil. Reads one row by primary key.
  package func record(_ id: RecordID) throws -> AnyRecord? {
    try read { try $0.record(id) }
  }

  @discardableResult
  package func write<Result>(
    origin: WriteOrigin, _ body: (WriteTransaction) throws -> Result
  ) throws -> Result {
    guard canBeginWrite else {
      throw BothyError(
        .nestedWrite,
        "A write of \(path) was begun inside another, or inside a read of a store in memory: it can't wait for itself. "
          + "Use the transaction at hand, or write when it is done.")
    }
    try file.check()
    let replacement = SecretReplacement(in: secrets)
    do {
      return try connections.writer.write {
        try perform($0, origin, replacement, body)
      } committed: {
        replacement.end()
        try tell($1.1, origin, in: $0)
      } undone: {
        replacement.undo(in: $0)
      }.0
    } catch { throw known(error) }
  }

  /// True if the caller may begin a write. A file has a connection for writing beside those for reading, a store in
  /// memory has one for both.
  private var canBeginWrite: Bool {
    guard let transaction = running.innermost else { return true }
    return !(transaction is WriteTransaction) && !connections.isInMemory
  }

  @discardableResult
  package func write<Result: Sendable>(
    origin: WriteOrigin, _ body: @escaping @Sendable (WriteTransaction) throws -> Result
  ) async throws -> Result {
    try file.check()
    let replacement = SecretReplacement(in: secrets)
    do {
      return try await connections.writer.write {
        try self.perform($0, origin, replacement, body)
      } committed: {
        replacement.end()
        try self.tell($1.1, origin, in: $0)
      } undone: {
        replacement.undo(in: $0)
      }.0
    } catch { throw known(error) }
  }

  private func perform<Result>(
    _ database: Database, _ origin: WriteOrigin, _ replacement: SecretReplacement,
    _ body: (WriteTransaction) throws -> Result
  ) throws -> (Result, Done) {
    try options.onStep?(.begin, origin)
    try connections.schemaCheck?.run(in: database)
    connections.commits.begin()
    let transaction = WriteTransaction(database, catalog, origin: origin, recorder: recorder)
    if eventHub.isHeard { transaction.log = EventLog() }
    transaction.secretStore = secrets
    ownChanges.others.notice(in: database)
    transaction.ownChanges = ownChanges
    let result = try running.marking(transaction) { try body(transaction) }
    try transaction.flush()
    // Written last, before the commit, so that no durable change lacks its secret.
    try replacement.set(transaction.secrets, in: database)
    try options.onStep?(.commit, origin)
    return (
      result,
      Done(
        touched: transaction.touched, events: transaction.log?.events ?? [], own: transaction.made,
        secrets: transaction.secretHashes)
    )
  }

  /// The data to announce when a transaction is durable.
  private struct Done: Sendable {
    var touched: TouchedRecords
    var events: [RecordChange]
    var own: OwnChangesMade
    var secrets: [SavedSecret: Int]
  }

  /// Announces a commit before the writer begins the next transaction, so that commits are announced in their order.
  private func tell(_ done: Done, _ origin: WriteOrigin, in database: Database) throws {
    // Writing the commit takes as long as the disk, and a read meanwhile doesn't see it.
    let number = connections.commits.end()
    ownChanges.others.settle(in: database)
    try options.onStep?(.committed, origin)
    ownChanges.note(done.own, committed: number)
    ownChanges.note(done.secrets)
    if !done.touched.isEmpty { notices.post(done.touched) }
    eventHub.send(done.events)
  }

  private func known(_ error: any Error) -> any Error { Self.known(error, path, fileCheck) }

  /// Returns the error as a `BothyError` if the store knows it. The app's own errors stay unchanged. Damage has the file
  /// checked.
  static func known(_ error: any Error, _ path: String, _ fileCheck: FileCheck?) -> any Error {
    guard error is DatabaseError || error is CancellationError else { return error }
    let known = BothyError(error, path: path)
    if known.code == .corrupt { fileCheck?.meetDamage() }
    return known
  }
}
