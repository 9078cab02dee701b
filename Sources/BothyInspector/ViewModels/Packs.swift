import BothyPacks
import BothyStore
import Foundation

/// The packs of the given folders. A pack that can't be read has its error instead.
struct Packs {
  struct Row {
    var folder: String
    var manifest: Pack.Manifest?
    var problem: String?
  }

  let rows: [Row]

  init(_ folders: [String]) {
    rows = folders.flatMap(Self.candidates).map { folder in
      do {
        let pack = try Pack.newest(in: folder)
        defer { pack.close() }
        return Row(folder: folder, manifest: pack.manifest)
      } catch {
        return Row(folder: folder, problem: HTTPFailure(error).message)
      }
    }
  }

  /// Returns the folder itself if it is a pack or has installed packs, or else the folders in it that are.
  private static func candidates(_ folder: String) -> [String] {
    if isPack(folder) { return [folder] }
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []  // a failure lists none
    let inside = names.sorted().map { folder + "/" + $0 }.filter(isPack)
    return inside.isEmpty ? [folder] : inside
  }

  private static func isPack(_ folder: String) -> Bool {
    ["/", "/current/"].contains {
      FileManager.default.fileExists(atPath: folder + $0 + Pack.Manifest.fileName)
    }
  }

  func write(to writer: inout JSONWriter) {
    writer.list("packs", rows) { writer, row in
      writer.member("folder", row.folder)
      writer.member("problem", row.problem)
      guard let manifest = row.manifest else { return }
      writer.member("name", manifest.name)
      writer.member("version", manifest.version)
      writer.member("rows", manifest.rows)
      writer.member("bytes", manifest.bytes)
      writer.member("digest", manifest.digest)
      writer.member("files", manifest.files.count)
      writer.list("types", zip(manifest.contents, manifest.schema.types).map { ($0, $1) }) { writer, item in
        item.1.writeShown(count: item.0.rows, to: &writer)
        writer.member("splitBy", item.0.shardedBy)
      }
    }
  }
}
