import BothyStore
import BothyTestSupport
import Foundation
import Testing

/// Secrets in files, which several processes write and remove.
@Suite("Secrets in files", .timeLimit(.minutes(5))) struct FileSecretStoreTests {
  private let folder: TemporaryFolder
  private let store: FileSecretStore
  private let key = SecretKey(RecordID(type: "User", id: "ann"), field: "pin")

  init() throws {
    folder = try TemporaryFolder()
    store = FileSecretStore(folder: folder.file("secrets"))
  }

  @Test("A secret is read as it was stored, until it is removed")
  func roundTrip() throws {
    #expect(try store.secret(key) == nil && store.keys().isEmpty)
    try store.set(nil, for: key)
    try store.set("one", for: key)
    try store.set("two", for: key)
    #expect(try store.secret(key) == "two" && store.keys() == [key])
    try store.set(nil, for: key)
    #expect(try store.secret(key) == nil && store.keys().isEmpty)
  }

  @Test("A file that another process removes is no error")
  func removedMeanwhile() throws {
    try store.set("one", for: key)
    // The folder lists a link without a target, like a file that is removed before it is read.
    try FileManager.default.createSymbolicLink(
      atPath: folder.file("secrets/gone.secret"), withDestinationPath: folder.file("nowhere"))
    #expect(try store.keys() == [key])
  }

  @Test("A folder that can't be written is named with a remedy")
  func unwritable() throws {
    // A file can't take the place of a folder with content.
    try FileManager.default.createDirectory(
      atPath: store.path(of: key) + "/full", withIntermediateDirectories: true)
    let error = #expect(throws: BothyError.self) { try store.set("two", for: key) }
    let (secrets, remedy) = (folder.file("secrets"), "Check its permissions and the free space.")
    #expect(error == BothyError(.readOnly, "The folder of secrets, \(secrets), can't be written. \(remedy)"))
  }
}
