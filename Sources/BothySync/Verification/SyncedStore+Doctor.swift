import BothyStore

/// Diagnosis of a synced store: of the file, like `LocalStore`, and of the bookkeeping of syncing.
extension SyncedStore {
  /// Checks the file, tables, rows and indexes, the outbox and the records' versions, and the checksums of blobs.
  /// Changes nothing.
  ///
  /// Reads the whole file and all blobs on the calling thread, and holds the writer while it reads the file. Throws
  /// only if the store is closed.
  package func diagnose() throws -> StoreDiagnosis {
    var diagnosis = try store.diagnose(with: [BookkeepingCheck()])
    do { diagnosis.findings += try store.read { try BlobCheck(folder: blobFolder).findings(in: $0) } } catch {
      diagnosis.findings.append(
        StoreDiagnosis.Finding(
          .error, check: "blobs", "The state of blobs can't be read: \(error)",
          remedy: "Mend the database first, see the other findings."))
    }
    return diagnosis
  }
}
