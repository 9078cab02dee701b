// Stands for the module MapKit: the declarations that Bothy uses.
@_exported public import Foundation

public struct MKTileOverlayPath {
  public var x: Int
  public var y: Int
  public var z: Int
  public var contentScaleFactor: Double
}

open class MKTileOverlay: NSObject {
  public init(urlTemplate: String?) {}
  open var minimumZ: Int = 0
  open var maximumZ: Int = 21
  open func loadTile(at path: MKTileOverlayPath) async throws -> Data { Data() }
}
