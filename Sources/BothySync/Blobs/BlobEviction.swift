import BothyStore

/// Keeps the bytes on this device within their budget, and deletes blobs without a record.
///
/// It never deletes pinned blobs, blobs of records with pending changes or of content that the journal can restore, and
/// blobs that the server doesn't confirm at that moment. So the last copy stays, and a blob that the server lacks is
/// uploaded again.
struct BlobEviction {
  private let runner: SyncRunner

  init(_ runner: SyncRunner) { self.runner = runner }

  /// The time after which an unused blob without a record is deleted. It was put without a `save`, or its record was
  /// deleted.
  private static let patience: Int64 = 7 * 86_400_000

  private enum Fate { case keep, mayGo, forgotten }

  /// Evicts blobs with one listing of the folder, two transactions, and a request for each blob to evict. Blobs stay if
  /// the server can't be reached.
  @discardableResult
  func run(budget: Int64?, keeping spared: String? = nil) async throws -> BlobStorage.Eviction {
    let (folder, now) = (runner.blobs, runner.clock.now())
    let files = try await FileWork.run {
      folder.removeUnfinished(before: now - Self.patience)
      return folder.files()
    }
    guard !files.isEmpty else { return BlobStorage.Eviction() }
    let judged = try await runner.store.read { try fates(of: files, now: now, in: $0) }
    var doomed = files.filter { judged[$0.sha256] == .forgotten }
    if let budget {
      var total = files.reduce(0) { $0 + $1.size } - doomed.reduce(0) { $0 + $1.size }
      for file in files.sorted(by: { $0.used < $1.used }) where total > budget {
        guard judged[file.sha256] == .mayGo, file.sha256 != spared else { continue }
        guard let isThere = await isOnServer(file) else { break }
        guard isThere else { continue }
        doomed.append(file)
        total -= file.size
      }
    }
    let chosen = doomed
    guard !chosen.isEmpty else { return BlobStorage.Eviction() }
    // The check is repeated within the transaction, so that blobs that were used or named meanwhile stay.
    let removed = try await runner.store.write(origin: .remote) { transaction -> [BlobFolder.File] in
      let fates = try fates(of: chosen, now: now, in: transaction)
      let removed = chosen.filter {
        fates[$0.sha256] != .keep && fates[$0.sha256] == judged[$0.sha256]
          && folder.used($0.sha256) == $0.used
      }
      for file in removed {
        if fates[file.sha256] == .forgotten { try BlobTable.remove(file.sha256, in: transaction) }
        folder.remove(file.sha256)
      }
      return removed
    }
    return BlobStorage.Eviction(removed: removed.count, bytes: removed.reduce(0) { $0 + $1.size })
  }

  /// Returns true if the server has the blob. A blob that it lacks stays this time. It is uploaded, unless syncs may not
  /// run now. Returns `nil` if no more requests are made now.
  private func isOnServer(_ file: BlobFolder.File) async -> Bool? {
    guard let remote = runner.remote.blobs else { return nil }
    do {
      if try await remote.holding(of: file.sha256) == .whole(size: file.size) { return true }
      guard runner.governor.obstacle == nil else { return false }
      var requests = 0
      let request = SyncRunner.Request(scope: .push, isGoverned: true)
      _ = try await BlobHealing(runner: runner).send(file, for: request, &requests)
      return false
    } catch {
      // Without the server's confirmation nothing is deleted. The next eviction requests it again.
      return nil
    }
  }

  private func fates(
    of files: [BlobFolder.File], now: Int64, in transaction: ReadTransaction
  ) throws -> [String: Fate] {
    let pending = try BlobTable.namedByPending(in: transaction)
    // The server may remove these, because no record of it names them.
    let lost = try BlobTable.lost(in: transaction)
    // Pending changes of a quarantined file may need their blobs when it is salvaged.
    let isSalvageDue = !runner.store.damagedFiles.isEmpty
    var named: Set<String>?
    var fates: [String: Fate] = [:]
    for file in files {
      let row = try BlobTable.row(file.sha256, in: transaction)
      if pending[file.sha256] != nil || lost.contains(file.sha256) || row?.isPinned ?? false {
        fates[file.sha256] = .keep
        continue
      }
      fates[file.sha256] = row?.state == .onServer ? .mayGo : .keep
      guard !isSalvageDue, file.used < now - Self.patience else { continue }
      if named == nil { named = try BlobTable.named(in: transaction) }
      if named?.contains(file.sha256) == false { fates[file.sha256] = .forgotten }
    }
    return fates
  }
}
