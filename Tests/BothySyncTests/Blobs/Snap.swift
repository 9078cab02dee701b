import BothyStore
import BothySync
import BothySyncService
import BothyTesting
import Foundation

/// A record that names a blob.
struct Snap: Entity, Equatable {
  static let schema = TypeSchema(
    "Snap",
    fields: [
      .field("title", String.self), .field("image", Blob?.self),
      FieldSchema("album", .reference(to: "Snap", onDelete: .nullify), optional: true),
    ])

  var id: String
  var title: String
  var image: Blob?
  var album: Reference<Snap>?

  init(_ id: String, _ title: String = "t", _ image: Blob? = nil, in album: String? = nil) {
    self.id = id
    self.title = title
    self.image = image
    self.album = album.map { Reference(id: $0) }
  }

  func encode(to fields: inout FieldEncoder) {
    title.encodeField(to: &fields)
    image.encodeField(to: &fields)
    album.encodeField(to: &fields)
  }

  init(id: String, from fields: inout FieldDecoder) throws(BothyError) {
    self.id = id
    title = try String(fromField: &fields)
    image = try Blob?(fromField: &fields)
    album = try Reference<Snap>?(fromField: &fields)
  }
}

extension StoreSchema {
  static let snaps = StoreSchema(version: 1, Snap.self, Note.self)
}

/// Two devices that exchange pictures, ten bytes to a part.
struct SnapPair {
  let world: SimulatedWorld
  let a: SimulatedDevice
  let b: SimulatedDevice

  init(blobs: BlobLimits? = BlobLimits(), _ configure: (inout SyncOptions) -> Void = { _ in }) throws {
    world = try SimulatedWorld(blobs: blobs)
    var configuration = SyncOptions.quiet
    configuration.blobs.partSize = 10
    configure(&configuration)
    a = try world.addDevice("a", schema: .snaps, configuration: configuration)
    b = try world.addDevice("b", schema: .snaps, configuration: configuration)
  }

  /// Returns the fields of a record on the server.
  func server(_ id: String) async throws -> [String: JSONValue]? {
    try await world.serverRecords()[RecordID(type: "Snap", id: id)]?.fields.members()
  }
}

extension SimulatedDevice {
  /// Stores bytes and saves a record that names them, on this device only.
  @discardableResult
  func snap(_ id: String, _ bytes: Data, in album: String? = nil) async throws -> Blob {
    let blob = try await store.blobs.add(bytes, contentType: "image/png")
    try await store.save(Snap(id, "t", blob, in: album))
    return blob
  }

  func snap(_ id: String) throws -> Snap? { try store.store.fetch(Snap.self, id: id) }

  func editSnap(_ id: String, _ change: (inout Snap) -> Void) throws {
    try store.store.write { _ = try $0.update(Snap.self, id: id) { change(&$0) } }
  }

  /// The offsets at which parts were sent.
  var uploads: [Int64] {
    remote.blobRequests.compactMap { if case .upload(_, let offset) = $0 { offset } else { nil } }
  }

  var downloads: [Int64] {
    remote.blobRequests.compactMap { if case .download(_, let offset) = $0 { offset } else { nil } }
  }

  /// The ids of the records that were sent, in order.
  var sentSnaps: [String] { remote.requests.flatMap(\.operations).map(\.record.id) }

  /// The files of blobs on this device.
  var blobFiles: [String] {
    let root = path + "-blobs"
    let found = FileManager.default.enumerator(atPath: root)?.compactMap { $0 as? String } ?? []
    return found.filter { ($0 as NSString).lastPathComponent.utf8.count == 64 && !$0.hasPrefix("partial") }
  }

  /// Overwrites the file of a blob with other bytes of equal length.
  func damage(_ blob: Blob) throws {
    let path = "\(path)-blobs/\(blob.sha256.prefix(2))/\(blob.sha256)"
    try Data(repeating: 0, count: blob.size).write(to: URL(fileURLWithPath: path))
  }
}

/// Returns `count` bytes that depend on `seed`.
func picture(_ count: Int = 45, _ seed: UInt8 = 1) -> Data {
  Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7) &+ seed })
}
